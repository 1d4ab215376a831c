// The randomizers, on the respondent's side: an answer and a recipe in, a report out.
// Whole numbers only: every probability is a ratio of two BigInts, every coin and die is exact.
// Draws its words in the order of the Python randomizers, so both give the same report for the
// same words. Sends nothing, stores nothing, reads nothing.

const WORDS = 1n << 64n;

/** A uniform whole number below 2^64 from the browser's secure generator. */
export function systemWord() {
  const halves = crypto.getRandomValues(new Uint32Array(2));
  return (BigInt(halves[1]) << 32n) | BigInt(halves[0]);
}

/** Coins and dice made of uniform 64-bit words. */
export function tosser(word = systemWord) {
  return {
    /** `count` coins that show true with the probability a/b. */
    flips([a, b], count) {
      const words = Array.from({ length: count }, () => word());
      return words.map((first) => below(BigInt(a), BigInt(b), first, word));
    },
    /** A uniform whole number below `sides`, by rejection. */
    die(sides) {
      const limit = BigInt(sides);
      const accepted = WORDS - (WORDS % limit);
      for (;;) {
        const drawn = word();
        if (drawn < accepted) return Number(drawn % limit);
      }
    },
  };
}

/** Whether a uniform number that starts with these 64 bits is below a/b; draws more if it must. */
function below(a, b, first, word) {
  let prefix = first;
  let length = 64n;
  for (;;) {
    if ((prefix + 1n) * b <= a << length) return true;
    if (prefix * b >= a << length) return false;
    prefix = (prefix << 64n) | word();
    length += 64n;
  }
}

const DRAW = {
  kary(recipe, held, toss) {
    const [kept] = toss.flips(recipe.kept, 1);
    const step = 1 + toss.die(recipe.categories - 1);
    return [kept ? held : (held + step) % recipe.categories];
  },

  unary(recipe, held, toss) {
    const bits = toss.flips(recipe.kept, recipe.categories).map((stays) => (stays ? 0 : 1));
    bits[held] = toss.die(2);
    return bits;
  },

  hadamard(recipe, held, toss) {
    const [plus] = toss.flips(recipe.kept, 1);
    const column = toss.die(2 ** recipe.bits);
    const row = held + 1;
    const minus = oddParity(row & column);
    return [minus === plus ? column ^ (row & -row) : column];
  },

  hashing(recipe, held, toss) {
    const parts = Array.from({ length: recipe.limbs + 1 }, () => toss.die(recipe.prime));
    const limb = BigInt(recipe.limb_bits);
    let total = BigInt(parts[recipe.limbs]);
    for (let place = 0; place < recipe.limbs; place += 1) {
      const part = (BigInt(held) >> (limb * BigInt(place))) & ((1n << limb) - 1n);
      total += BigInt(parts[place]) * part;
    }
    const hashed = Number((total % BigInt(recipe.prime)) % BigInt(recipe.sides));
    const [kept] = toss.flips(recipe.kept, 1);
    const moved = (hashed + 1 + toss.die(recipe.sides - 1)) % recipe.sides;
    return [...parts, kept ? hashed : moved];
  },

  subset(recipe, held, toss) {
    const [joins] = toss.flips(recipe.kept, 1);
    const others = new Set(); // of the k - 1 other categories, by Floyd's algorithm
    const last = recipe.categories - 1;
    for (let newest = last - recipe.size; newest < last; newest += 1) {
      const drawn = toss.die(newest + 1);
      others.add(others.has(drawn) ? newest : drawn);
    }
    const members = [...others].sort((one, two) => one - two);
    const leaves = toss.die(recipe.size);
    if (joins) members.splice(leaves, 1);
    const bits = new Array(recipe.categories).fill(0);
    for (const member of members) bits[(held + 1 + member) % recipe.categories] = 1;
    if (joins) bits[held] = 1;
    return bits;
  },

  rappor(recipe, held, toss) {
    const copy = toss.flips(recipe.blur, recipe.categories);
    copy[held] = !copy[held];
    const low = toss.flips(recipe.low, recipe.categories);
    const high = toss.flips(recipe.high, recipe.categories);
    return copy.map((bit, place) => ((bit ? high : low)[place] ? 1 : 0));
  },

  "one-bit"(recipe, held, toss) {
    const upper = toss.die(recipe.steps) < held;
    const [kept] = toss.flips(recipe.kept, 1);
    return [upper === kept ? 1 : 0];
  },

  piecewise(recipe, held, toss) {
    const [inside] = toss.flips(recipe.kept, 1);
    const near = held + toss.die(recipe.window);
    const drawn = toss.die(recipe.steps);
    const far = drawn >= held ? drawn + recipe.window : drawn;
    return [inside ? near : far];
  },

  hybrid(recipe, held, toss) {
    const [chosen] = toss.flips(recipe.share, 1);
    const { piecewise, oneBit } = recipe;
    const [output] = DRAW.piecewise(piecewise, held, toss);
    const [bit] = DRAW["one-bit"](oneBit, held, toss);
    return [chosen ? output : piecewise.steps + piecewise.window + bit];
  },
};

function oddParity(number) {
  let odd = false;
  for (let rest = number; rest; rest &= rest - 1) odd = !odd;
  return odd;
}

/** The report on an answer: the numbers it consists of. */
export function randomize(recipe, held, toss = tosser()) {
  const answers = recipe.lattice ? recipe.lattice.steps + 1 : recipe.categories;
  if (!Number.isInteger(held) || held < 0 || held >= answers) throw new RangeError("no answer");
  return DRAW[recipe.kind](recipe, held, toss);
}

/** The place of a typed number on the lattice, or null if it is none; ties go to even places. */
export function place(recipe, typed) {
  const found = /^([+-]?)(\d{1,30})(?:[.,](\d{1,30}))?$/.exec(typed.trim());
  if (!found) return null;
  const digits = found[3] ?? "";
  const size = BigInt(found[2] + digits);
  let value = [found[1] === "-" ? -size : size, 10n ** BigInt(digits.length)];
  const [lower, upper, step] = ["lower", "upper", "step"].map((name) =>
    recipe.lattice[name].map(BigInt),
  );
  if (value[0] * lower[1] < lower[0] * value[1]) value = lower;
  if (value[0] * upper[1] > upper[0] * value[1]) value = upper;
  const steps = roundHalfEven(value[0] * step[1], value[1] * step[0]);
  return Number(steps - BigInt(recipe.lattice.first));
}

function roundHalfEven(numerator, denominator) {
  let quotient = numerator / denominator;
  if (quotient * denominator > numerator) quotient -= 1n; // towards minus infinity
  const twice = 2n * (numerator - quotient * denominator);
  const up = twice > denominator || (twice === denominator && quotient & 1n);
  return up ? quotient + 1n : quotient;
}

/** The bytes of a whole survey: every report in its bits, least bit first. */
export function pack(recipes, reports) {
  let total = 0n;
  let length = 0;
  recipes.forEach((recipe, index) => {
    const widths = partWidths(recipe);
    reports[index].forEach((part, number) => {
      total |= BigInt(part) << BigInt(length);
      length += widths[number];
    });
  });
  const bytes = new Uint8Array(Math.ceil(length / 8));
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number((total >> BigInt(8 * index)) & 255n);
  }
  return bytes;
}

function partWidths(recipe) {
  if (["unary", "subset", "rappor"].includes(recipe.kind)) {
    return new Array(recipe.categories).fill(1);
  }
  if (recipe.kind === "hashing") {
    const parts = recipe.limbs + 1;
    return [...new Array(parts).fill(31), recipe.bits - 31 * parts];
  }
  return [recipe.bits];
}
