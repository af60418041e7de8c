/**
 * Reads the musical requests of a prompt: genre, moods, tempo, key, metre, instruments, and exclusions. Never fails: it
 * chooses at random where it understands nothing.
 */
import type { Random } from '@darkroom/seeded-random/random';
import { INSTRUMENT_WORDS, instrumentNamed } from './instruments.ts';
import { GENRE_NAMES, GENRE_WORDS, MOODS, SCENE_WORDS } from './prompt-lexicon.ts';
import type { GenreName } from './prompt-lexicon.ts';
import type { ModeName } from './theory.ts';

export interface SongBrief {
  readonly genre: GenreName;
  /** Dark -1 to bright 1; undefined if no mood is named. */
  readonly valence: number | undefined;
  /** Calm -1 to driven 1. */
  readonly energy: number;
  /** Beats a minute, 40 to 220, if the prompt names them. */
  readonly bpm: number | undefined;
  /** Pitch class of the tonic, if the prompt names a key. */
  readonly tonic: number | undefined;
  readonly mode: ModeName | undefined;
  readonly metre: '4/4' | '3/4' | '6/8' | undefined;
  /** Names of instruments in the order of mention. */
  readonly instruments: readonly string[];
  /** Names of instruments that must not play. */
  readonly excluded: ReadonlySet<string>;
  /** Whether the prompt requests drums (true) or excludes them (false). */
  readonly drums: boolean | undefined;
  /** Whether only the named instruments play. */
  readonly isSolo: boolean;
  readonly voice: 'female' | 'male' | undefined;
  readonly delivery: 'sung' | 'spoken' | undefined;
}

const [SLOWEST_BPM, FASTEST_BPM] = [40, 220];
const NOTES: Readonly<Record<string, number>> = { c: 0, d: 2, e: 4, f: 5, g: 7, a: 9, b: 11 };
const MODE_WORDS: Readonly<Record<string, ModeName>> = {
  major: 'major',
  maj: 'major',
  minor: 'minor',
  min: 'minor',
  m: 'minor',
  dorian: 'dorian',
  mixolydian: 'mixolydian',
  phrygian: 'phrygian',
  lydian: 'lydian',
  aeolian: 'minor',
  ionian: 'major',
};
const MODE = '(major|minor|maj|min|dorian|mixolydian|phrygian|lydian|aeolian|ionian)';
const ACCIDENTAL = '(?:\\s?(#|♯|sharp|b|♭|flat)(?![a-z]))?';
/** `D minor`, `F# major`, `B flat minor`; a capital letter or `in`/`key of` before it keeps `a minor detail` out. */
const KEY_WITH_MODE = new RegExp(
  `(?:\\b(?:in|key of|key:?)\\s+([A-Ga-g])|\\b([A-G]))${ACCIDENTAL}[\\s-]${MODE}\\b`,
  'u',
);
const KEY_ALONE = new RegExp(`\\bkey(?:\\s+of|:)?\\s+([A-G])${ACCIDENTAL}(m)?(?![A-Za-z])`, 'u');
const KEY_SHORT = /\bin ([A-G])(#|♯|b|♭)?(m)\b/u;
const TEMPO =
  /(\d{2,3}(?:\.\d+)?)\s*-?\s*(?:bpm|beats per minute)|\b(?:bpm|tempo)\s*(?:of|:|=)?\s*(\d{2,3}(?:\.\d+)?)/iu;
const TEMPO_WORDS: readonly (readonly [words: RegExp, bpm: number])[] = [
  [/\blarghetto\b/, 63],
  [/\blargo\b/, 50],
  [/\badagio\b/, 70],
  [/\bandante\b/, 88],
  [/\bmoderato\b/, 110],
  [/\ballegretto\b/, 114],
  [/\ballegro\b/, 132],
  [/\bvivace\b/, 164],
  [/\bpresto\b/, 184],
];

/** The position of one of the alternatives `one|other` in a text; the length separates longer matches from shorter. */
function findWords(text: string, alternatives: string): { at: number; length: number } | undefined {
  let best: { at: number; length: number } | undefined;
  for (const word of alternatives.split('|')) {
    const match = new RegExp(`(?<![a-z0-9-])${word}(?![a-z0-9])`, 'u').exec(text);
    if (match === null) continue;
    const isBetter =
      best === undefined || word.length > best.length || (word.length === best.length && match.index < best.at);
    if (isBetter) best = { at: match.index, length: word.length };
  }
  return best;
}

function readKey(prompt: string): { tonic: number | undefined; mode: ModeName | undefined } {
  const full = KEY_WITH_MODE.exec(prompt);
  const [letter, accidental, mode] =
    full !== null
      ? [full[1] ?? full[2], full[3], full[4]]
      : (KEY_ALONE.exec(prompt) ?? KEY_SHORT.exec(prompt) ?? []).slice(1);
  const bareMode = new RegExp(`\\b${MODE}\\b(?! (?:label|league|detail))`, 'u').exec(prompt.toLowerCase())?.[1];
  const named = mode ?? (letter === undefined ? bareMode : undefined);
  const step = accidental === undefined ? 0 : /[#♯]|sharp/.test(accidental) ? 1 : -1;
  return {
    tonic: letter === undefined ? undefined : ((NOTES[letter.toLowerCase()] ?? 0) + step + 12) % 12,
    mode: named === undefined ? (letter === undefined ? undefined : 'major') : MODE_WORDS[named],
  };
}

function readTempo(prompt: string): number | undefined {
  const match = TEMPO.exec(prompt);
  const named = match === null ? TEMPO_WORDS.find(([words]) => words.test(prompt))?.[1] : Number(match[1] ?? match[2]);
  return named === undefined ? undefined : Math.min(Math.max(named, SLOWEST_BPM), FASTEST_BPM);
}

/** Removes `no drums`, `without guitars and drums` from a text. */
function splitNegations(text: string): { wanted: string; unwanted: string } {
  const unwanted: string[] = [];
  const wanted = text.replace(
    /\b(?:no|without|not|non|never|minus)\b((?:\s+(?!but\b|with\b)[a-z0-9&'-]+){1,3}(?:\s*(?:,\s*|and |or |nor )(?=(?:no |any )?[a-z-]+\s*(?:$|[.,;]))[a-z0-9' -]+)?)/g,
    (_match, rest: string) => {
      unwanted.push(rest);
      return ' ';
    },
  );
  return { wanted, unwanted: unwanted.join(' ; ') };
}

function readInstruments(text: string): string[] {
  const found: { at: number; name: string }[] = [];
  // A genre, not instruments.
  let rest = text.replace(/\bdrum (?:and|&|n|'n') bass\b/g, '');
  for (const [word, name] of INSTRUMENT_WORDS) {
    const match = new RegExp(`(?<![a-z0-9])${word}s?(?![a-z0-9])`, 'u').exec(rest);
    if (match === null) continue;
    rest = rest.slice(0, match.index) + ' '.repeat(match[0].length) + rest.slice(match.index + match[0].length);
    if (!found.some((one) => one.name === name)) found.push({ at: match.index, name });
  }
  return found.sort((one, other) => one.at - other.at).map(({ name }) => name);
}

/** The genre that an instrument implies if the prompt names none. */
const GENRE_OF_INSTRUMENT: Readonly<Record<string, GenreName>> = {
  piano: 'piano',
  'music-box': 'music-box',
  celesta: 'music-box',
  glockenspiel: 'music-box',
  'steel-guitar': 'folk',
  'twelve-string': 'folk',
  mandolin: 'folk',
  ukulele: 'pop',
  'nylon-guitar': 'bossa',
  'jazz-guitar': 'jazz',
  'alto-sax': 'jazz',
  'tenor-sax': 'jazz',
  'soprano-sax': 'jazz',
  trumpet: 'jazz',
  'muted-trumpet': 'jazz',
  vibraphone: 'jazz',
  'upright-bass': 'jazz',
  rhodes: 'soul',
  'clean-guitar': 'rock',
  overdrive: 'rock',
  distortion: 'metal',
  banjo: 'country',
  'pedal-steel': 'country',
  harmonica: 'blues',
  fiddle: 'celtic',
  whistle: 'celtic',
  bagpipe: 'celtic',
  harp: 'classical',
  violin: 'classical',
  viola: 'classical',
  cello: 'classical',
  strings: 'classical',
  flute: 'classical',
  oboe: 'classical',
  clarinet: 'classical',
  harpsichord: 'classical',
  'church-organ': 'classical',
  horns: 'epic',
  brass: 'epic',
  choir: 'epic',
  organ: 'gospel',
  accordion: 'waltz',
  bandoneon: 'latin',
  'steel-drums': 'reggae',
  marimba: 'latin',
  sitar: 'asian',
  koto: 'asian',
  shamisen: 'asian',
  shakuhachi: 'asian',
  saw: 'synthwave',
  square: 'chiptune',
  'fat-bass': 'hiphop',
  'synth-bass': 'techno',
  'warm-pad': 'ambient',
  kalimba: 'ambient',
  'pan-flute': 'ambient',
  tuba: 'march',
};

/** Words that name a genre only if no other word does: for `epic rock` the band plays rock. */
const WEAK =
  /^(epic|cinematic|electronic|acoustic|retro|orchestral|orchestra|dance|chill|party|80s|eighties|groovy|groove|catchy|soundtrack|adventure|fantasy|christmas|festival|relaxing|relaxation|anthem|minimal|minimalist|club|war|church|tropical|island|western|swing|classical|wedding|spa|sleep|upbeat song|choral|medieval|noir|lounge|suspense|creepy|scary|parade|indian|praise|toy|baby|pub)$/;

interface Span {
  readonly at: number;
  readonly length: number;
}

function encloses(one: Span, other: Span): boolean {
  return one.at <= other.at && one.at + one.length >= other.at + other.length && one.length > other.length;
}

function readGenre(
  text: string,
  instruments: readonly string[],
  valence: number,
  energy: number,
  random: Random,
): GenreName {
  const named = GENRE_NAMES.flatMap((genre) => {
    const found = findWords(text, GENRE_WORDS[genre]);
    return found === undefined
      ? []
      : [{ genre, ...found, isWeak: WEAK.test(text.slice(found.at, found.at + found.length)) }];
  });
  const outer = named.filter((one) => !named.some((other) => other !== one && encloses(other, one)));
  const [best] = outer.sort((one, other) => Number(one.isWeak) - Number(other.isWeak) || one.at - other.at);
  if (best !== undefined) return best.genre;
  for (const name of instruments) {
    const genre = GENRE_OF_INSTRUMENT[name];
    if (genre !== undefined) return genre;
  }
  const scenes = GENRE_NAMES.flatMap((genre) => {
    const found = findWords(text, SCENE_WORDS[genre] ?? '\u0000');
    return found === undefined ? [] : [{ genre, at: found.at }];
  }).sort((one, other) => one.at - other.at);
  const [scene] = scenes;
  if (scene !== undefined) return scene.genre;
  if (energy > 0.5)
    return valence < 0
      ? random.pick(['rock', 'techno', 'epic'] as const)
      : random.pick(['pop', 'house', 'rock'] as const);
  if (energy < -0.2)
    return valence < 0
      ? random.pick(['piano', 'ballad', 'lofi'] as const)
      : random.pick(['ambient', 'folk', 'lofi'] as const);
  return random.pick(['pop', 'folk', 'soul', 'funk', 'rock'] as const);
}

/** Reads a prompt of any content. Only open choices are random. */
export function readPrompt(prompt: string, random: Random): SongBrief {
  const lower = prompt.normalize('NFKC').toLowerCase().replace(/[’]/g, "'").replace(/\s+/g, ' ');
  const { wanted, unwanted } = splitNegations(lower);
  const moods = MOODS.filter(({ words }) => findWords(wanted, words) !== undefined);
  const average = (of: (mood: (typeof MOODS)[number]) => number): number =>
    moods.length === 0 ? 0 : moods.reduce((sum, mood) => sum + of(mood), 0) / moods.length;
  const [valence, energy] = [average((mood) => mood.valence), average((mood) => mood.energy)];
  const instruments = readInstruments(wanted);
  const excluded = new Set(readInstruments(unwanted));
  const { tonic, mode } = readKey(prompt);
  const noDrums = /\b(drums?|percussion|beats?|drummer)\b/.test(unwanted) || /\bdrumless\b/.test(wanted);
  const hasDrums = /\b(drums|drum kit|percussion|drummer|breakbeat|four on the floor)\b/.test(wanted);
  const isSolo = instruments.length > 0 && /\b(solo|only|alone|unaccompanied|a cappella|just)\b/.test(wanted);
  return {
    genre: readGenre(wanted, instruments, valence, energy, random.fork('genre')),
    valence: moods.length === 0 ? undefined : valence,
    energy,
    bpm: readTempo(lower),
    tonic,
    mode: mode ?? (moods.length === 1 ? moods[0]?.mode : undefined),
    metre: /\b3\/4\b|\bin three\b/.test(wanted)
      ? '3/4'
      : /\b(6\/8|12\/8)\b/.test(wanted)
        ? '6/8'
        : /\b4\/4\b/.test(wanted)
          ? '4/4'
          : undefined,
    instruments: instruments.filter((name) => !excluded.has(name) && instrumentNamed(name).family !== undefined),
    excluded,
    drums: noDrums ? false : hasDrums ? true : undefined,
    isSolo,
    voice: /\b(female|woman|girl|she|her|soprano|diva|lady)\b/.test(wanted)
      ? 'female'
      : /\b(male|man|boy|he|his|baritone|tenor|guy)\b/.test(wanted)
        ? 'male'
        : undefined,
    delivery: /\b(spoken|spoken word|rap|rapped|rapping|recited|narrated|poetry|talking)\b/.test(wanted)
      ? 'spoken'
      : /\b(sung|singing|sings|singer|melodic)\b/.test(wanted)
        ? 'sung'
        : undefined,
  };
}
