/**
 * Reads a prompt for a sound: which known things it names, how they sound, their order, and where everything happens.
 * By words and their order, not by grammar: an adjective belongs to the thing that follows it, and where none follows,
 * to the one before. Never fails; it ignores unknown words.
 */
import {
  BESIDE,
  CHANGES,
  COUNTS,
  EFFECTS,
  NOT,
  NO_EFFECTS,
  ROOM_WORDS,
  THEN,
  TIMES,
  WHERE,
  stem,
} from './prompt-words.ts';
import type { Change, Effects } from './prompt-words.ts';
import type { Manner, RoomName, Thing } from './thing.ts';

/** One thing that a prompt names, and how. */
export interface Mention {
  readonly thing: Thing;
  readonly manner: Omit<Manner, 'seconds'>;
  /** In metres. */
  readonly distance: number;
  /** -1 left to 1 right; undefined if the prompt does not say. */
  readonly side: number | undefined;
  /** How often it happens; undefined if the prompt does not say. */
  readonly count: number | undefined;
}

/** Things that sound at the same time. */
export interface Act {
  readonly mentions: readonly Mention[];
  readonly room: RoomName | undefined;
}

export interface SoundReading {
  /** One after the other; empty if the prompt names nothing that is known. */
  readonly acts: readonly Act[];
  readonly effects: Effects;
}

const LONGEST_PHRASE = 4;
const NEAR_METRES = 4;
/** More at the same time is only noise. */
const MOST_AT_ONCE = 8;

/** The words in lower case; commas and full stops stay, because they end a group of words. */
function wordsOf(prompt: string): string[] {
  return (
    prompt
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .replace(/[’']s\b/gu, '')
      .match(/[a-z0-9]+|[,.;:\n]/g) ?? []
  );
}

function merged(changes: readonly Change[]): Change {
  let whole: Change = {};
  for (const change of changes) {
    whole = {
      ...whole,
      ...change,
      weight: (whole.weight ?? 1) * (change.weight ?? 1),
      pace: (whole.pace ?? 1) * (change.pace ?? 1),
      pitch: (whole.pitch ?? 1) * (change.pitch ?? 1),
    };
  }
  return whole;
}

function within(value: number | undefined, lowest: number, highest: number): number {
  return Math.min(Math.max(value ?? 1, lowest), highest);
}

/** A thing and everything said about it, while reading. */
interface Draft {
  readonly thing: Thing;
  readonly changes: Change[];
}

function mentionOf({ thing, changes }: Draft): Mention {
  const { weight, pace, pitch, surface, course, distance, side, count } = merged(changes);
  return {
    thing,
    manner: {
      weight: within(weight, 0.35, 2),
      pace: within(pace, 0.5, 2),
      pitch: within(pitch, 0.5, 2),
      surface,
      course,
    },
    // A moving thing has a path of its own.
    distance: course === undefined ? (distance ?? NEAR_METRES) : NEAR_METRES,
    side,
    count,
  };
}

/** The meaning of names: one thing, or several that are heard together. */
export interface SoundLexicon {
  readonly things: ReadonlyMap<string, Thing>;
  readonly scenes: ReadonlyMap<string, { readonly parts: readonly ScenePart[]; readonly room: RoomName | undefined }>;
}

/** One thing of a scene, and its properties there. */
export interface ScenePart {
  readonly thing: Thing;
  readonly change: Change;
}

/** The state of the reading, word by word. */
class Reader {
  readonly #lexicon: SoundLexicon;
  readonly #acts: { drafts: Draft[]; room: RoomName | undefined }[] = [{ drafts: [], room: undefined }];
  #waiting: Change[] = [];
  #last: Draft | undefined;
  #isNegated = false;
  #isWhere = false;
  #effects: Effects = NO_EFFECTS;
  #number: number | undefined;

  constructor(lexicon: SoundLexicon) {
    this.#lexicon = lexicon;
  }

  /** Takes a phrase if it has a meaning here. */
  take(phrase: string): boolean {
    if (THEN.has(phrase)) return this.#beginAct();
    if (NOT.has(phrase)) return (this.#isNegated = true);
    if (WHERE.has(phrase)) return (this.#isWhere = true);
    if (BESIDE.has(phrase)) this.#isWhere = false;
    const change = CHANGES.get(phrase);
    const thing = this.#lexicon.things.get(phrase);
    // `glass` alone is a surface that rain falls on; `glass breaking` is a thing. The longer phrase is tried first.
    if (thing !== undefined && !(change?.surface !== undefined && this.#last !== undefined)) return this.#name(thing);
    if (change !== undefined) return this.#change(change);
    const effect = EFFECTS.get(phrase);
    if (effect !== undefined) {
      this.#effects = { ...this.#effects, ...effect };
      return true;
    }
    if (this.#lexicon.scenes.has(phrase)) return this.#set(phrase);
    const roomName = ROOM_WORDS.get(phrase);
    const act = this.#acts.at(-1);
    if (roomName === undefined || act === undefined) return false;
    act.room = roomName;
    return true;
  }

  /** Takes a number or a word like `times`. */
  count(word: string): boolean {
    const number = /^\d{1,2}$/.test(word) ? Number(word) : COUNTS.get(word);
    if (number !== undefined && number > 0) {
      this.#number = number;
      return true;
    }
    if (!TIMES.has(word) || this.#number === undefined) return false;
    this.#last?.changes.push({ count: this.#number });
    this.#number = undefined;
    return true;
  }

  /** A comma or a full stop: adjectives that found no thing go to the previous one. */
  endClause(): void {
    this.#last?.changes.push(...this.#waiting);
    this.#waiting = [];
    this.#number = undefined;
    this.#isNegated = false;
    this.#isWhere = false;
    this.#last = undefined;
  }

  finish(): SoundReading {
    this.endClause();
    const acts = this.#acts.filter((act) => act.drafts.length > 0);
    const room = this.#acts.find((act) => act.room !== undefined)?.room;
    return {
      acts: acts.map((act) => ({
        mentions: act.drafts.slice(0, MOST_AT_ONCE).map(mentionOf),
        // A room on its own, before or after everything else, applies everywhere.
        room: act.room ?? room,
      })),
      effects: this.#effects,
    };
  }

  #beginAct(): true {
    this.endClause();
    if ((this.#acts.at(-1)?.drafts.length ?? 0) > 0) this.#acts.push({ drafts: [], room: undefined });
    return true;
  }

  #change(change: Change): true {
    // Words for a surface, side, course or count come after their thing: `rain on a roof`, `barks twice`.
    const follows = change.surface ?? change.side ?? change.course ?? change.count;
    if (follows !== undefined && this.#last !== undefined) this.#last.changes.push(change);
    else this.#waiting.push(change);
    return true;
  }

  /** A place with sounds of its own: adds all of them, each with the adjectives of the place. */
  #set(phrase: string): true {
    const scene = this.#lexicon.scenes.get(phrase);
    const act = this.#acts.at(-1);
    const isLeftOut = this.#isNegated;
    this.#isNegated = false;
    this.#isWhere = false;
    if (scene === undefined || act === undefined || isLeftOut) return true;
    for (const { thing, change } of scene.parts) {
      if (act.drafts.some((draft) => draft.thing === thing)) continue;
      act.drafts.push({ thing, changes: [change, ...this.#waiting] });
    }
    this.#waiting = [];
    act.room ??= scene.room;
    return true;
  }

  #name(thing: Thing): true {
    const act = this.#acts.at(-1);
    const isWhere = this.#isWhere && this.#last !== undefined && thing.bed === undefined;
    const isNegated = this.#isNegated;
    this.#isNegated = false;
    this.#isWhere = false;
    // `a forest without birds`: removes a thing that came with the place.
    if (act !== undefined && isNegated) act.drafts = act.drafts.filter((draft) => draft.thing !== thing);
    if (act === undefined || isNegated || isWhere) return true;
    const counted = this.#number === undefined ? [] : [{ count: this.#number }];
    this.#number = undefined;
    const known = act.drafts.find((draft) => draft.thing === thing);
    const draft = known ?? { thing, changes: [] };
    draft.changes.push(...this.#waiting, ...counted);
    this.#waiting = [];
    if (known === undefined) act.drafts.push(draft);
    this.#last = draft;
    return true;
  }
}

/** Reads a prompt. */
export function readSoundPrompt(prompt: string, lexicon: SoundLexicon): SoundReading {
  const reader = new Reader(lexicon);
  const words = wordsOf(prompt);
  for (let at = 0; at < words.length;) {
    const word = words[at] ?? '';
    if (/^[,.;:\n]$/.test(word)) {
      reader.endClause();
      at += 1;
      continue;
    }
    let taken = 0;
    for (let length = Math.min(LONGEST_PHRASE, words.length - at); length > 0 && taken === 0; length--) {
      const phrase = words
        .slice(at, at + length)
        .map(stem)
        .join(' ');
      if (reader.take(phrase)) taken = length;
    }
    if (taken === 0) reader.count(stem(word));
    at += Math.max(taken, 1);
  }
  return reader.finish();
}
