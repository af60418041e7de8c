/**
 * The bodies of four-legged animals: their proportions, and legs, tail and trunk drawn from them.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { downwards, fillCurve, fillEllipse, fillShape, placed, strokeLine } from '../draw.ts';
import type { Fill } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, Point, Stage } from '../stage.ts';

type Extra =
  | 'antlers'
  | 'mane'
  | 'big-mane'
  | 'trunk'
  | 'hump'
  | 'wool'
  | 'horn'
  | 'spots'
  | 'stocky'
  | 'ossicones'
  | 'cat';

export interface Walker {
  readonly coat: string;
  /** Fractions of the height: legs, depth of the body, half its length. */
  readonly leg: number;
  readonly deep: number;
  readonly half: number;
  /** How far the nape lies before and above the shoulder, and how wide the neck is there. */
  readonly neck: readonly [out: number, up: number, wide: number];
  readonly head: readonly [long: number, deep: number];
  readonly tail: 'short' | 'tuft' | 'hair';
  readonly extra: Extra;
  /** The marks on its coat. */
  readonly marks?: 'stripes' | 'patches' | 'panda';
  /** How thick the legs are; 1 is a horse's. */
  readonly thick?: number;
}

/** The colours of one animal in the light of its scene. */
export interface Coat {
  readonly body: Colour;
  /** The same over the whole animal: lit from above, dark below the belly. */
  readonly form: Fill;
  readonly shade: Colour;
  readonly bright: Colour;
  readonly dark: Colour;
}

/** The points of one animal's body, in units of its height. */
export interface Frame {
  readonly back: number;
  readonly belly: number;
  readonly nape: Point;
}

export function coatOf(stage: Stage, colour: Colour, depth: number): Coat {
  const { palette } = stage;
  const body = lit(palette, colour, depth);
  const top = mix(adjust(body, 0.05), palette.rim, palette.isDark ? 0.12 : 0.2);
  const below = mix(adjust(body, -0.12), palette.land, 0.12);
  return {
    body,
    form: stage.isFlat
      ? body
      : downwards(stage.context, -1.02, 0, css(top), css(body), css(below), css(adjust(body, -0.07))),
    shade: adjust(body, -0.1),
    bright: mix(body, palette.rim, 0.3),
    dark: mix(lit(palette, hex('#2b211d'), depth), palette.land, 0.25),
  };
}

/** A leg with its thigh, knee and hoof; a hind leg bends backwards. */
export function drawLeg(
  context: Context,
  kind: Walker,
  frame: Frame,
  x: number,
  isHind: boolean,
  colours: { leg: Fill; hoof: Colour },
): void {
  const wide = 0.1 * (kind.thick ?? 1);
  const hip = -kind.deep * 0.42;
  const straight =
    '-1,0 1.2,0 1,0.88 0.56,0.64 0.46,0.5 0.46,0.4 0.29,0.33 0.27,0.17 0.44,0.1 0.5,0 0.5,0 -0.36,0 -0.36,0 -0.3,0.1 -0.3,0.18 -0.31,0.34 -0.46,0.42 -0.44,0.54 -0.95,0.86';
  const bent =
    '-1,0 1.25,0 1.15,0.84 0.42,0.62 -0.06,0.5 -0.26,0.38 -0.12,0.2 0.2,0.1 0.34,0 0.34,0 -0.56,0 -0.56,0 -0.54,0.1 -0.66,0.2 -0.86,0.38 -1.06,0.47 -0.86,0.58 -1.25,0.84';
  const [thigh, knee, ...lower] = placed(isHind ? bent : straight, { x, y: 0 }, wide, frame.belly);
  if (thigh === undefined || knee === undefined) return;
  // The thigh reaches into the body, whatever the length of the leg.
  const top = frame.belly + hip;
  fillCurve(context, [{ x: thigh.x, y: top }, { x: knee.x, y: top }, ...lower], colours.leg);
  const foot = isHind ? x - 0.01 : x;
  fillShape(
    context,
    placed('-0.4,-0.045 0.42,-0.045 0.52,0.004 -0.45,0.004', { x: foot, y: 0 }, wide, 1),
    colours.hoof,
  );
}

export function drawTail(context: Context, kind: Walker, frame: Frame, coat: Coat): void {
  const { half, deep } = kind;
  const rump = { x: -half, y: frame.back };
  if (kind.tail === 'hair') {
    const hair = '0.03,0.03 -0.1,0.02 -0.17,0.27 -0.14,0.51 -0.1,0.53 -0.05,0.27 0.02,0.11';
    fillCurve(context, placed(hair, rump, 1, 1), kind.extra === 'horn' ? hex('#d99adf') : coat.dark);
  } else if (kind.tail === 'short') {
    fillEllipse(context, { x: rump.x - 0.02, y: rump.y + deep * 0.28 }, 0.045, 0.055, coat.bright);
  } else {
    const end = { x: rump.x - 0.09, y: frame.belly + 0.1 };
    strokeLine(context, [...placed('0.04,0.07 -0.08,0.17', rump, 1, 1), end], 0.026, coat.shade);
    fillEllipse(context, { x: end.x, y: end.y + 0.03 }, 0.034, 0.06, coat.dark);
  }
}

/** Dark bands across the body, narrower towards the belly. */
function drawStripes(context: Context, kind: Walker, frame: Frame, dark: Colour): void {
  const { half, deep } = kind;
  for (let stripe = 0; stripe < 8; stripe++) {
    const x = -0.84 + stripe * 0.23;
    const reach = 0.5 + (stripe % 3) * 0.16;
    const lean = stripe % 2 === 0 ? 0.05 : -0.04;
    const band = `${x - 0.05},0.02 ${x + 0.05},0 ${x + 0.06 + lean},${reach * 0.5} ${x + lean * 2},${reach} ${x - 0.03 + lean},${reach * 0.5}`;
    fillCurve(context, placed(band, { x: 0, y: frame.back }, half, deep), css(dark, 0.88));
  }
}

/** A net of light between patches, as a giraffe has. */
function drawPatches(context: Context, kind: Walker, frame: Frame, dark: Colour): void {
  const { half, deep } = kind;
  for (let patch = 0; patch < 17; patch++) {
    const [column, row] = [patch % 6, Math.floor(patch / 6)];
    const x = -0.78 + column * 0.3 + (row % 2) * 0.14;
    const y = 0.16 + row * 0.27;
    const form = `${x - 0.1},${y - 0.06} ${x + 0.02},${y - 0.12} ${x + 0.11},${y - 0.04} ${x + 0.09},${y + 0.09} ${x - 0.05},${y + 0.11}`;
    fillShape(context, placed(form, { x: 0, y: frame.back }, half, deep), css(dark, 0.85));
  }
}

/** The body, in a box from rump to chest (-1 to 1) and from back to belly (0 to 1). */
export function drawTrunk(context: Context, kind: Walker, frame: Frame, coat: Coat): void {
  const { half, deep } = kind;
  const shape = (outline: string, fill: Fill = coat.form): void =>
    fillCurve(context, placed(outline, { x: 0, y: frame.back }, half, deep), fill);
  const middle = frame.back + deep / 2;
  if (kind.extra === 'hump') shape('-0.7,0.3 -0.35,-0.1 -0.05,-0.95 0.3,-0.1 0.6,0.3');
  if (kind.extra === 'stocky') shape('-0.1,0.2 0.1,-0.1 0.42,-0.22 0.75,-0.1 0.9,0.3 0.4,0.5');
  // Croup, loin, withers, chest, belly and flank as one line.
  shape(
    '-1,0.42 -1.02,0.18 -0.86,-0.02 -0.5,-0.08 -0.1,0.05 0.3,0 0.62,-0.12 0.92,0.06 1.06,0.42 0.98,0.78 0.7,1.04 0.3,1.1 -0.2,1.06 -0.56,0.92 -0.84,0.98 -1,0.8',
  );
  if (kind.marks === 'stripes') drawStripes(context, kind, frame, coat.dark);
  if (kind.marks === 'patches') drawPatches(context, kind, frame, mix(coat.shade, coat.dark, 0.45));
  if (kind.marks === 'panda') shape('0.42,-0.1 0.72,-0.16 0.96,0.1 0.98,0.8 0.7,1.04 0.5,0.9 0.44,0.4', coat.dark);
  if (kind.extra === 'wool') {
    for (let curl = 0; curl < 17; curl++) {
      const angle = (curl / 17) * Math.PI * 2;
      const position = { x: Math.cos(angle) * half * 0.92, y: middle + Math.sin(angle) * deep * 0.46 };
      fillEllipse(context, position, deep * 0.25, deep * 0.24, coat.form);
    }
    for (let curl = 0; curl < 13; curl++) {
      const position = {
        x: half * (-0.72 + (curl % 5) * 0.36),
        y: frame.back + deep * (0.16 + Math.floor(curl / 5) * 0.3),
      };
      strokeLine(context, placed('-0.05,0.03 0,-0.035 0.055,0.02', position, 1, 1), 0.016, coat.shade, 0.4);
    }
  } else {
    // The muscle of shoulder and thigh catches the light; the flank lies in shade.
    fillEllipse(
      context,
      { x: half * 0.62, y: middle - deep * 0.04 },
      half * 0.26,
      deep * 0.36,
      css(coat.bright, 0.16),
      0.2,
    );
    fillEllipse(
      context,
      { x: -half * 0.68, y: middle - deep * 0.1 },
      half * 0.26,
      deep * 0.34,
      css(coat.bright, 0.16),
      -0.2,
    );
    fillEllipse(
      context,
      { x: -half * 0.12, y: frame.belly - deep * 0.1 },
      half * 0.5,
      deep * 0.13,
      css(coat.dark, 0.1),
    );
  }
  if (kind.extra === 'spots') {
    const spots = [
      '-0.72,0.1 -0.3,0.04 -0.2,0.34 -0.34,0.6 -0.66,0.56 -0.8,0.36',
      '0.1,0.26 0.36,0.18 0.5,0.44 0.34,0.74 0.08,0.66',
      '-0.18,0.72 0.04,0.8 0,0.98 -0.22,0.96',
      '0.62,0 0.84,0.08 0.84,0.3 0.66,0.32',
    ];
    for (const spot of spots) shape(spot, mix(coat.dark, coat.body, 0.1));
  }
}
