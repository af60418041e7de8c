/**
 * The lettering font: Inter in the alphabets that it has, registered once per thread from the installed package. Other
 * scripts are drawn with any font of the machine; a character that no font has is omitted, never drawn as a box.
 */
import { createRequire } from 'node:module';
import { createCanvas, GlobalFonts } from '@napi-rs/canvas';

/** The name of the font in the canvas library. */
const FAMILY = 'Darkroom Inter';
const ALPHABETS = ['latin', 'latin-ext', 'cyrillic', 'greek', 'vietnamese'] as const;
const WEIGHTS = [400, 700, 900] as const;

export type Weight = (typeof WEIGHTS)[number];

function register(): void {
  if (GlobalFonts.has(FAMILY)) return;
  const require = createRequire(import.meta.url);
  for (const alphabet of ALPHABETS) {
    for (const weight of WEIGHTS) {
      const file = require.resolve(`@fontsource/inter/files/inter-${alphabet}-${weight}-normal.woff2`);
      if (GlobalFonts.registerFromPath(file, FAMILY) === null) throw new Error(`the font ${file} cannot be read`);
    }
  }
}

/** The canvas's `font` for a weight and a size in the units of the context. */
export function fontOf(weight: Weight, size: number): string {
  register();
  return `${weight} ${size}px "${FAMILY}"`;
}

/** A code point that is assigned in no font: drawing it shows the glyph of a missing character. */
const MISSING = '\u{10FFFF}';
const PROBE_PIXELS = 24;
const known = new Map<string, boolean>();
/** The most characters remembered: enough for every script that is in use. */
const MOST_KNOWN = 20_000;

function probe(character: string): string {
  const canvas = createCanvas(PROBE_PIXELS * 2, PROBE_PIXELS * 2);
  const context = canvas.getContext('2d');
  context.font = fontOf(400, PROBE_PIXELS);
  context.fillText(character, 4, PROBE_PIXELS * 1.4);
  return canvas.data().toString('latin1');
}

let missing: string | undefined;

/** Whether an installed font has the character. */
function isDrawable(character: string): boolean {
  const before = known.get(character);
  if (before !== undefined) return before;
  missing ??= probe(MISSING);
  const isThere = probe(character) !== missing;
  if (known.size < MOST_KNOWN) known.set(character, isThere);
  return isThere;
}

/** User-perceived characters: an accent, a joiner or a variant belongs to its base character. */
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const INVISIBLE = /^[\p{Z}\p{Cc}\p{Cf}\p{M}\s]*$/u;
const LETTER = /[\p{L}\p{N}]/u;

function isKnown(character: string): boolean {
  return character < '\u0250' || isDrawable(character);
}

/** Whether the base character can be drawn, without its combining marks. */
function hasSign(segment: string): boolean {
  const [sign] = segment;
  return sign !== undefined && isKnown(sign);
}

/** The text without the characters that no installed font has, and without their combining marks. */
export function drawableText(text: string): string {
  return [...graphemes.segment(text)]
    .filter(({ segment }) => hasSign(segment))
    .map(({ segment }) => [...segment].filter(isKnown).join(''))
    .join('')
    .replace(/\s+/gu, ' ')
    .trim();
}

/**
 * Whether lettering can show a text: at least one of its letters and digits, or of its signs if it has neither. A
 * character that is invisible in any font, a blank or a joiner, is not counted as missing.
 */
export function isLetterable(text: string): boolean {
  const visible = [...graphemes.segment(text)].flatMap(({ segment }) => (INVISIBLE.test(segment) ? [] : [segment]));
  const letters = visible.filter((segment) => LETTER.test(segment));
  const wanted = letters.length > 0 ? letters : visible;
  return wanted.length === 0 || wanted.some(hasSign);
}
