// The respondent's page. Randomizes the answers here, keeps the report in this browser before it
// is sent the first time, and sends those same bytes again until the survey has confirmed them.
// An answer is read from the form, given to the randomizer and forgotten; it is never sent. Only a
// survey with several rounds is remembered here, so that the same answer is never drawn again.

import { pack, place, randomize } from "./randomize.js";

const PREFIX = "discreet/";
const form = document.getElementById("questions");
const button = document.getElementById("send");
const says = document.getElementById("says");

const survey = await (await fetch("survey.json", { credentials: "omit" })).json();
// An invitation is the part of the address after #, which browsers do not send with the page.
const invitation = /^#([0-9a-f]{32})$/.exec(location.hash)?.[1] ?? null;
const person = survey.invited && invitation ? `/${invitation}` : "";
const key = `${PREFIX}${survey.fingerprint}/${survey.round}${person}`;
const memoKey = `${PREFIX}${survey.fingerprint}/answers${person}`; // of a survey that is asked repeatedly

function say(text) {
  says.textContent = text;
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** What was stored, or null; a browser that does not store says so. */
function stored() {
  const text = localStorage.getItem(key);
  return text === null ? null : JSON.parse(text);
}

/** The places of all answers, or the name of the first question without one. */
function answers() {
  const found = [];
  for (const recipe of survey.recipes) {
    const field = document.getElementById(`question-${recipe.name}`);
    let held = null;
    if (recipe.lattice) {
      held = place(recipe, field.querySelector("input").value);
    } else {
      const chosen = field.querySelector("input:checked, option:checked:not([value=''])");
      held = chosen ? Number(chosen.value) : null;
    }
    if (held === null) return { missing: field };
    found.push(held);
  }
  return { found };
}

/** Reports on answers given for the first time are drawn; on others they are what they were. */
function remembered(found) {
  const memo = JSON.parse(localStorage.getItem(memoKey) ?? '{"epsilon": 0, "drawn": {}}');
  const reports = survey.recipes.map((recipe, index) => {
    const own = (memo.drawn[recipe.name] ??= {});
    if (!(found[index] in own)) {
      own[found[index]] = randomize(recipe, found[index]);
      memo.epsilon += survey.epsilons[index];
    }
    return own[found[index]];
  });
  localStorage.setItem(memoKey, JSON.stringify(memo));
  return reports;
}

/** Randomize once and keep the report; what comes back is read from the store. */
function makeReport(found) {
  const earlier = stored();
  if (earlier) return earlier;
  const once = survey.rounds === 1;
  const reports = once
    ? survey.recipes.map((recipe, index) => randomize(recipe, found[index]))
    : remembered(found);
  const token = survey.invited ? invitation : hex(crypto.getRandomValues(new Uint8Array(16)));
  const epsilon = once ? survey.epsilons.reduce((sum, each) => sum + each, 0) : 0;
  localStorage.setItem(
    key,
    JSON.stringify({ token, body: hex(pack(survey.recipes, reports)), epsilon }),
  );
  return stored();
}

/** Forget the answers as soon as they are randomized. */
function clear() {
  for (const input of form.querySelectorAll("input")) {
    input.checked = false;
    if (input.type === "text") input.value = "";
  }
  for (const select of form.querySelectorAll("select")) select.selectedIndex = 0;
  form.hidden = true;
}

async function send(report) {
  button.disabled = true;
  say("Sending …");
  let status = 0;
  try {
    const reply = await fetch(`reports/${report.token}`, {
      method: "PUT",
      body: unhex(report.body),
      credentials: "omit",
      cache: "no-store",
    });
    status = reply.status;
  } catch {
    status = 0;
  }
  if (status === 200 || status === 201) {
    say(`${survey.thanks} Your randomized report, ${report.body.length / 2} bytes: ${report.body}`);
    document.body.dataset.state = "sent";
    button.hidden = true;
  } else if ([400, 403, 409].includes(status)) {
    say("The survey does not take this report. Nothing more will be sent.");
    document.body.dataset.state = "refused";
    button.hidden = true;
  } else {
    say("The report could not be sent. It is kept here; sending again sends the same bytes.");
    document.body.dataset.state = "kept";
    button.disabled = false;
    button.textContent = "Send again";
  }
  showSpent();
}

/** What this browser has reported to this site so far, over all surveys it has kept. */
function showSpent() {
  let total = 0;
  for (let index = 0; index < localStorage.length; index += 1) {
    const name = localStorage.key(index);
    if (name.startsWith(PREFIX)) total += JSON.parse(localStorage.getItem(name)).epsilon;
  }
  document.getElementById("spent").textContent = total
    ? `This browser has reported to this site at a total epsilon of ${Number(total.toFixed(6))}.`
    : "";
}

function begin() {
  if (survey.invited && !invitation) {
    say("This survey is by invitation: open the link that you were given.");
    document.body.dataset.state = "uninvited";
    return;
  }
  const earlier = stored();
  if (earlier) {
    clear();
    void send(earlier);
    return;
  }
  showSpent();
  button.disabled = false;
}

button.addEventListener("click", () => {
  try {
    const earlier = stored();
    if (earlier) {
      void send(earlier);
      return;
    }
    const { found, missing } = answers();
    if (missing) {
      say("Please answer every question.");
      missing.scrollIntoView();
      return;
    }
    const report = makeReport(found);
    clear();
    void send(report);
  } catch {
    say("This browser does not keep data for this page, so nothing was sent.");
    document.body.dataset.state = "not-kept";
  }
});

try {
  begin();
} catch {
  say("This browser does not keep data for this page, so no report can be sent.");
  document.body.dataset.state = "not-kept";
}
