/**
 * Reads what a prompt says about time: how the camera moves, how the light changes, how the video is cut. The image
 * engine's reader reads what the prompt shows; words of both kinds may appear together.
 */
import { TIMES } from '../image/lexicon.ts';
import type { TimeOfDay } from '../image/lexicon.ts';
import { readPrompt } from '../image/prompt-reading.ts';
import type { PromptReading } from '../image/prompt-reading.ts';
import type { Move } from './camera.ts';
import type { LightChange } from './world-stage.ts';

/** How shots follow each other. */
type Cutting = 'quick' | 'usual' | 'slow' | 'none';

export interface VideoPromptReading {
  readonly scene: PromptReading;
  /** The moves that the prompt names, in its order. */
  readonly moves: readonly Move[];
  readonly light: LightChange | undefined;
  readonly cutting: Cutting;
}

/** In this order: a phrase comes before the words that it is made of. */
const MOVE_WORDS: readonly (readonly [Move, RegExp])[] = [
  ['pull', /\b(pull(s|ing)?[- ]?(back|out)|zoom(s|ing)?[- ]?out|dolly[- ]?(out|back)|revealing|reveals?)\b/gi],
  [
    'push',
    /\b(push(es|ing)?([- ]?in)?|zoom(s|ing)?([- ]?in)?|dolly([- ]?in)?|closer|approach(es|ing)?|move[- ]?in|forwards?)\b/gi,
  ],
  [
    'left',
    /\b(pan(s|ning)?[- ]?(to the )?left|track(s|ing)?[- ]?(to the )?left|(moves?|moving|to the) left|leftwards?)\b/gi,
  ],
  [
    'right',
    /\b(pan(s|ning)?([- ]?(to the )?right)?|track(s|ing)?( shot)?([- ]?(to the )?right)?|(moves?|moving|to the) right)\b/gi,
  ],
  [
    'rise',
    /\b(crane(s|ing)?( up| shot)?|tilt(s|ing)?[- ]?up|rise[sn]?|rising|ascend(s|ing)?|aerial|drone|pedestal up)\b/gi,
  ],
  ['sink', /\b(crane(s|ing)? down|tilt(s|ing)?[- ]?down|descend(s|ing)?|lowers?|sinks?|sinking)\b/gi],
  ['orbit', /\b(orbit(s|ing)?|arc shot|circl(es?|ing)|around the|parallax|rotat(es?|ing))\b/gi],
  ['shake', /\b(hand[- ]?held|shak(y|es?|ing)|running camera)\b/gi],
  ['still', /\b(static|still camera|locked[- ]?(off|down)?|tripod|fixed camera|no camera movement|motionless)\b/gi],
  ['calm', /\b(slow(ly)?|calm(ly)?|gentle|gently|drift(s|ing)?|float(s|ing)?)\b/gi],
];

/** Finds moves by their positions; words that belong to a matched phrase are not read again. */
function readMoves(text: string): Move[] {
  const found: { move: Move; at: number }[] = [];
  let rest = text;
  for (const [move, words] of MOVE_WORDS) {
    rest = rest.replace(words, (match, ...groups) => {
      const at = groups.find((group): group is number => typeof group === 'number') ?? 0;
      found.push({ move, at });
      return ' '.repeat(match.length);
    });
  }
  const moves = found.toSorted((first, second) => first.at - second.at).map(({ move }) => move);
  // "Slow push in" is a push; calm alone is a move of its own.
  const named = moves.filter((move) => move !== 'calm');
  return [...new Set(named.length > 0 ? named : moves)];
}

const DARK: ReadonlySet<TimeOfDay> = new Set(['night', 'dusk']);

/** The first and last time of day of a video with changing light. */
function readLight(text: string, scene: PromptReading): LightChange | undefined {
  const words = text.toLowerCase().match(/[a-z]+(?:-[a-z]+)?/g) ?? [];
  const times = words.flatMap((word) => {
    const time = TIMES.get(word);
    return time === undefined || (time === 'noon' && (word === 'bright' || word === 'sunny')) ? [] : [time];
  });
  const isTurning =
    /\b(from|turns?|turning|becom(es|ing)|falls|fades?|fading|until|till|into|through|to)\b/i.test(text) &&
    times.length > 1;
  const [first] = times;
  const last = times.at(-1);
  if (isTurning && first !== undefined && last !== undefined && first !== last) return { time: first, until: last };
  if (/\b(night falls|nightfall|sun ?set(s|ting)|sun goes down|getting dark|city lights? up)\b/i.test(text)) {
    return { time: first === undefined || DARK.has(first) ? 'sunset' : first, until: 'night' };
  }
  if (/\b(sun ?ris(es|ing)|sun comes up|day breaks|dawn breaks|getting light)\b/i.test(text)) {
    return { time: 'dusk', until: 'morning' };
  }
  if (/\b(time[- ]?lapse|hyper[- ]?lapse|day (in)?to night|a whole day)\b/i.test(text)) {
    const from = scene.time;
    if (from === 'night' || from === 'dusk') return { time: from, until: 'morning' };
    return { time: from ?? 'afternoon', until: 'night' };
  }
  return undefined;
}

function readCutting(text: string): Cutting {
  if (/\b(one[- ]?(take|shot)|single (take|shot)|continuous|uncut|without cuts|no cuts)\b/i.test(text)) return 'none';
  if (/\b(quick|fast|rapid|energetic|dynamic|montage|hectic)\b/i.test(text)) return 'quick';
  if (/\b(slow|quiet|calm|dissolves?|dreamy|meditative|peaceful)\b/i.test(text)) return 'slow';
  return 'usual';
}

/** Reads a prompt of any content; never fails. */
export function readVideoPrompt(prompt: string): VideoPromptReading {
  const scene = readPrompt(prompt);
  const text = scene.scenery;
  return { scene, moves: readMoves(text), light: readLight(text, scene), cutting: readCutting(text) };
}
