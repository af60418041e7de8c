/**
 * The bodies of four-legged animals: their proportions, and legs, tail and trunk drawn from them.
 */
import { adjust, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillCurve, fillEllipse, fillShape, placed, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, Point, Stage } from '../stage.ts';

type Extra = 'antlers' | 'mane' | 'big-mane' | 'trunk' | 'hump' | 'wool' | 'horn' | 'spots' | 'stocky';

export interface Walker {
  readonly coat: string;
  /** Shares of the height: legs, depth of the body, half its length. */
  readonly leg: number;
  readonly deep: number;
  readonly half: number;
  /** How far the nape lies before and above the shoulder, and how wide the neck is there. */
  readonly neck: readonly [out: number, up: number, wide: number];
  readonly head: readonly [long: number, deep: number];
  readonly tail: 'short' | 'tuft' | 'hair';
  readonly extra: Extra;
  /** How thick the legs are; 1 is a horse's. */
  readonly thick?: number;
}

/** The colours of one animal in the light of its scene. */
export interface Coat {
  readonly body: Colour;
  readonly shade: Colour;
  readonly bright: Colour;
  readonly dark: Colour;
}

/** The places of one animal's body, in units of its height. */
export interface Frame {
  readonly back: number;
  readonly belly: number;
  readonly nape: Point;
}

export function coatOf(stage: Stage, colour: Colour, depth: number): Coat {
  const { palette } = stage;
  const body = lit(palette, colour, depth);
  return {
    body,
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
  colours: { leg: Colour; hoof: Colour },
): void {
  const wide = 0.1 * (kind.thick ?? 1);
  const hip = -kind.deep * 0.42;
  const straight =
    '-1,0 1.2,0 1,0.82 0.57,0.46 0.36,0.2 0.45,0 0.45,0 -0.42,0 -0.42,0 -0.34,0.22 -0.38,0.48 -0.95,0.82';
  const bent = '-1,0 1.2,0 1,0.82 -0.1,0.46 0.26,0.2 0.35,0 0.35,0 -0.52,0 -0.52,0 -0.44,0.22 -1.05,0.48 -1.22,0.82';
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

/** The body, in a box from rump to chest (-1 to 1) and from back to belly (0 to 1). */
export function drawTrunk(context: Context, kind: Walker, frame: Frame, coat: Coat): void {
  const { half, deep } = kind;
  const shape = (outline: string): void =>
    fillCurve(context, placed(outline, { x: 0, y: frame.back }, half, deep), coat.body);
  const middle = frame.back + deep / 2;
  fillEllipse(context, { x: -half * 0.56, y: middle }, half * 0.48, deep * 0.55, coat.body);
  fillEllipse(context, { x: half * 0.56, y: middle + deep * 0.02 }, half * 0.48, deep * 0.58, coat.body);
  shape('-0.9,0.2 -0.5,-0.06 0,0.06 0.5,-0.1 0.95,0.3 0.8,1 0,1.08 -0.6,0.94');
  if (kind.extra === 'hump') shape('-0.7,0.3 -0.35,-0.1 -0.05,-0.95 0.3,-0.1 0.6,0.3');
  if (kind.extra === 'stocky') shape('-0.1,0.2 0.1,-0.1 0.42,-0.22 0.75,-0.1 0.9,0.3 0.4,0.5');
  if (kind.extra === 'wool') {
    for (let curl = 0; curl < 15; curl++) {
      const angle = (curl / 15) * Math.PI * 2;
      const place = { x: Math.cos(angle) * half * 0.92, y: middle + Math.sin(angle) * deep * 0.46 };
      fillEllipse(context, place, deep * 0.25, deep * 0.24, coat.body);
    }
  }
  if (kind.extra === 'spots') {
    const [first, second, third] = placed('-0.5,0.36 0.26,0.5 -0.05,0.78', { x: 0, y: frame.back }, half, deep);
    for (const [place, across] of [
      [first, 0.16],
      [second, 0.13],
      [third, 0.1],
    ] as const) {
      if (place !== undefined) fillEllipse(context, place, across, across * 0.7, mix(coat.dark, coat.body, 0.1));
    }
  }
}
