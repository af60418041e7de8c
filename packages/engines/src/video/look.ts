/**
 * The look that a prompt gives to clips from different sources: light, warmth, contrast and general colours as one
 * curve for each channel.
 */
import { hex, lightness, mix } from '../image/colour.ts';
import type { Colour } from '../image/colour.ts';
import type { Look } from './raster/blending.ts';

interface Tone {
  /** What black and white become. */
  readonly shadows: Colour;
  readonly lights: Colour;
  /** 1 leaves the middle as it is, more darkens it. */
  readonly gamma: number;
  /** Steepness in the middle, 0 to 1. */
  readonly contrast: number;
  readonly strength: number;
}

const PLAIN: Tone = { shadows: [6, 8, 14], lights: [255, 252, 246], gamma: 1, contrast: 0.18, strength: 1.04 };

const TONES: readonly (readonly [RegExp, Partial<Tone>])[] = [
  [
    /\b(noir|black[- ]and[- ]white|monochrome|gr[ae]yscale)\b/i,
    { strength: 0, contrast: 0.45, shadows: [4, 4, 5], lights: [252, 252, 250] },
  ],
  [
    /\b(sepia|antique|old film|vintage|retro|nostalgi\w*|faded|memor\w+)\b/i,
    { strength: 0.62, shadows: [42, 30, 24], lights: [255, 240, 208], contrast: 0.1 },
  ],
  [
    /\b(night|midnight|moonlight|moonlit|dark)\b/i,
    { shadows: [2, 6, 24], lights: [176, 204, 255], gamma: 1.45, strength: 0.7 },
  ],
  [
    /\b(sunset|golden|warm|summer|sunny|evening|amber)\b/i,
    { shadows: [26, 12, 16], lights: [255, 240, 206], strength: 1.12 },
  ],
  [
    /\b(cold|cool|winter|snow\w*|ic[ey]|frost\w*|blue hour|quiet)\b/i,
    { shadows: [8, 16, 34], lights: [236, 248, 255], strength: 0.84 },
  ],
  [
    /\b(dream\w*|soft|pastel|tender)\b/i,
    { shadows: [48, 42, 58], lights: [255, 250, 250], contrast: 0, strength: 0.88 },
  ],
  [
    /\b(neon|cyberpunk|synthwave|vapou?rwave)\b/i,
    { shadows: [28, 4, 58], lights: [190, 255, 255], strength: 1.35, contrast: 0.35 },
  ],
  [/\b(dramatic|intense|stark|high contrast|epic|cinematic|bold)\b/i, { contrast: 0.42, strength: 1.08 }],
];

/** The look that a text describes. @param colours of the whole, not of single things. */
export function createLook(text: string, colours: readonly Colour[] = []): Look {
  let tone = PLAIN;
  for (const [words, change] of TONES) if (words.test(text)) tone = { ...tone, ...change };
  const [first] = colours;
  const last = colours.at(-1);
  if (first !== undefined && last !== undefined && tone.strength > 0) {
    const dark = lightness(first) < lightness(last) ? first : last;
    const bright = dark === first ? last : first;
    tone = {
      ...tone,
      shadows: mix(tone.shadows, mix(hex('#000000'), dark, 0.5), 0.6),
      lights: mix(tone.lights, mix(hex('#ffffff'), bright, 0.42), 0.7),
    };
  }
  const curve = (channel: 0 | 1 | 2): Uint8Array =>
    Uint8Array.from({ length: 256 }, (_, value) => {
      const plain = (value / 255) ** tone.gamma;
      const steep = plain * plain * (3 - 2 * plain);
      const share = plain + (steep - plain) * tone.contrast;
      return Math.round(tone.shadows[channel] + (tone.lights[channel] - tone.shadows[channel]) * share);
    });
  return { red: curve(0), green: curve(1), blue: curve(2), strength: tone.strength };
}
