// The respondent's page. Randomizes the answers here, keeps the report in this browser before it
// is sent the first time, and sends those same bytes again until the survey has confirmed them.
// An answer is read from the form, given to the randomizer and forgotten; it is neither sent nor
// stored. Every round of a survey is drawn afresh, so no report shows whether an answer came back.

import { pack, place, randomize } from "./randomize.js";

const PREFIX = "discreet/";
const ANSWERS = /^discreet\/[0-9a-f]{32}\/answers(\/|$)/;
const form = document.getElementById("questions");
const button = document.getElementById("send");
const says = document.getElementById("says");

const survey = await (await fetch("survey.json", { credentials: "omit" })).json();
// An invitation is the part of the address after #, which browsers do not send with the page.
const invitation = /^#([0-9a-f]{32})$/.exec(location.hash)?.[1] ?? null;
const person = survey.invited && invitation ? `/${invitation}` : "";
const key = `${PREFIX}${survey.fingerprint}/${survey.round}${person}`;

function say(text) {
  says.textContent = text;
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const invited = survey.invited && invitation ? await roundToken() : null;

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

/** The token of an invited person in this round: of rounds, each has one of its own. */
async function roundToken() {
  if (survey.rounds === 1) return invitation;
  if (!crypto.subtle) return null; // browsers hash on pages with TLS only
  const text = `discreet/${survey.fingerprint}/${survey.round}/${invitation}`;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hex(new Uint8Array(digest)).slice(0, 32);
}

/** Earlier versions kept answers here, to send the same report again. Delete them. */
function forgetAnswers() {
  for (const name of keptNames(ANSWERS)) {
    const { epsilon } = JSON.parse(localStorage.getItem(name));
    localStorage.setItem(name, JSON.stringify({ epsilon, drawn: {} }));
  }
}

function keptNames(pattern) {
  const names = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index));
  return names.filter((name) => pattern.test(name));
}

/** Randomize once and keep the report; what comes back is read from the store. */
function makeReport(found) {
  const earlier = stored();
  if (earlier) return earlier;
  const reports = survey.recipes.map((recipe, index) => randomize(recipe, found[index]));
  const token = invited ?? hex(crypto.getRandomValues(new Uint8Array(16)));
  const epsilon = survey.epsilons.reduce((sum, each) => sum + each, 0);
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
  const total = keptNames(/^discreet\//)
    .map((name) => JSON.parse(localStorage.getItem(name)).epsilon)
    .reduce((sum, each) => sum + each, 0);
  const spent = `This browser has reported to this site at a total epsilon of ${Number(total.toFixed(6))}.`;
  const earlier =
    " An earlier version of this page sent the same report again for the same answer: which of " +
    "those answers were the same is not protected.";
  document.getElementById("spent").textContent =
    (total ? spent : "") + (keptNames(ANSWERS).length ? earlier : "");
}

function begin() {
  if (survey.invited && !invitation) {
    say("This survey is by invitation: open the link that you were given.");
    document.body.dataset.state = "uninvited";
    return;
  }
  if (survey.invited && !invited) {
    say("This page was not opened over https, so no report can be sent.");
    document.body.dataset.state = "insecure";
    return;
  }
  forgetAnswers();
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
