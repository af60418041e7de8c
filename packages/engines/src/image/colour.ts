/**
 * Colours and how they are mixed. Mixing goes through OKLab (Ottosson, 2020), where half-way between two colours looks
 * half-way: haze over a mountain stays clean instead of turning grey.
 */

/** Red, green, blue, 0 to 255, not necessarily whole. */
export type Colour = readonly [red: number, green: number, blue: number];

/** Lightness 0 to 1, and two axes of colour, each about -0.4 to 0.4. */
export type Lab = readonly [lightness: number, greenRed: number, blueYellow: number];

/** Reads `#rrggbb`. */
export function hex(text: string): Colour {
  const value = Number.parseInt(text.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Writes a colour in the format of the canvas. */
export function css([red, green, blue]: Colour, alpha = 1): string {
  const channels = [red, green, blue].map((value) => Math.max(0, Math.min(255, Math.round(value)))).join(', ');
  return `rgba(${channels}, ${Math.max(0, Math.min(1, alpha)).toFixed(4)})`;
}

function toLinear(value: number): number {
  const share = Math.max(0, Math.min(255, value)) / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

function fromLinear(value: number): number {
  const share = Math.max(0, Math.min(1, value));
  return 255 * (share <= 0.0031308 ? 12.92 * share : 1.055 * share ** (1 / 2.4) - 0.055);
}

/** From sRGB to OKLab. */
export function toLab(colour: Colour): Lab {
  const [red, green, blue] = [toLinear(colour[0]), toLinear(colour[1]), toLinear(colour[2])];
  const long = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const middle = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const short = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short,
  ];
}

/** From OKLab to sRGB, clipped to the range of a screen. */
export function fromLab([lightness, greenRed, blueYellow]: Lab): Colour {
  const long = (lightness + 0.3963377774 * greenRed + 0.2158037573 * blueYellow) ** 3;
  const middle = (lightness - 0.1055613458 * greenRed - 0.0638541728 * blueYellow) ** 3;
  const short = (lightness - 0.0894841775 * greenRed - 1.291485548 * blueYellow) ** 3;
  return [
    fromLinear(4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short),
    fromLinear(-1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short),
    fromLinear(-0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short),
  ];
}

/** A colour between two: 0 is the first, 1 the second. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  const [a, b] = [toLab(from), toLab(to)];
  const part = Math.max(0, Math.min(1, share));
  return fromLab([a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part, a[2] + (b[2] - a[2]) * part]);
}

/** Changes lightness by an amount of -1 to 1 (perceived), and multiplies the strength of the colour. */
export function adjust(colour: Colour, lighter: number, strength = 1): Colour {
  const [lightness, greenRed, blueYellow] = toLab(colour);
  return fromLab([Math.max(0, Math.min(1, lightness + lighter)), greenRed * strength, blueYellow * strength]);
}

/** A colour of the first's lightness in the second's hue, by a share of 0 to 1. */
export function tint(colour: Colour, towards: Colour, share: number): Colour {
  const [from, to] = [toLab(colour), toLab(towards)];
  const lightness = from[0] * (1 - 0.25 * share) + to[0] * 0.25 * share;
  return fromLab([lightness, from[1] + (to[1] - from[1]) * share, from[2] + (to[2] - from[2]) * share]);
}

/** A surface's colour under a light of some colour: the product of both. */
export function underLight(colour: Colour, light: Colour): Colour {
  return [(colour[0] * light[0]) / 255, (colour[1] * light[1]) / 255, (colour[2] * light[2]) / 255];
}

/** Perceived lightness, 0 to 1. */
export function lightness(colour: Colour): number {
  return toLab(colour)[0];
}

/** The hue of a colour as an angle in radians, and how strong it is: 0 is grey, about 0.3 the strongest there is. */
export function hueOf(colour: Colour): { readonly angle: number; readonly chroma: number } {
  const [, greenRed, blueYellow] = toLab(colour);
  return { angle: Math.atan2(blueYellow, greenRed), chroma: Math.hypot(greenRed, blueYellow) };
}

/** A colour of the same lightness and strength in another hue. */
export function turnedTo(colour: Colour, angle: number): Colour {
  const [lightness, greenRed, blueYellow] = toLab(colour);
  const chroma = Math.hypot(greenRed, blueYellow);
  return fromLab([lightness, Math.cos(angle) * chroma, Math.sin(angle) * chroma]);
}
