/**
 * The necks and heads of four-legged animals, with what only one of them has: antlers, mane, horn, tusks.
 */
import { css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillCurve, fillEllipse, fillShape, placed, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, Point, Stage } from '../stage.ts';
import type { Walker, Coat, Frame } from './walker-bodies.ts';

export function drawNeck(context: Context, kind: Walker, frame: Frame, coat: Coat): void {
  const { half, deep } = kind;
  const { back, belly, nape } = frame;
  const wide = kind.neck[2];
  const chest = { x: half * 1.02, y: belly - deep * 0.4 };
  context.beginPath();
  context.moveTo(half * 0.2, back + deep * 0.1);
  context.quadraticCurveTo(half * 0.75, back - deep * 0.05, nape.x - wide * 0.45, nape.y - kind.head[1] * 0.1);
  context.lineTo(nape.x + wide * 0.42, nape.y + wide * 0.5);
  context.quadraticCurveTo(chest.x - half * 0.02, back + deep * 0.1, chest.x, chest.y);
  context.lineTo(half * 0.3, belly - deep * 0.3);
  context.closePath();
  context.fillStyle = css(coat.body);
  context.fill();
}

/** The head, in a box from the nape to the muzzle (0 to 1) and of its own depth. */
export function drawHead(context: Context, kind: Walker, frame: Frame, coat: Coat): void {
  const { extra } = kind;
  const { nape } = frame;
  const [long, tall] = kind.head;
  const face = extra === 'wool' ? coat.dark : coat.body;
  const muzzle = { x: nape.x + long * 0.93, y: nape.y + long * 0.42 };
  if (extra === 'big-mane') {
    fillEllipse(context, { x: nape.x + 0.03, y: nape.y + 0.06 }, 0.23, 0.27, mix(coat.dark, coat.body, 0.35));
    fillEllipse(context, { x: nape.x + 0.07, y: nape.y + 0.05 }, 0.17, 0.2, mix(coat.dark, coat.body, 0.5));
  }
  const brow = placed('-0.35,-0.2 -0.07,-0.52 0.4,-0.4', nape, long, tall);
  const jaw = placed('0.95,-0.34 1.04,0.12 0.9,0.42', { x: nape.x, y: muzzle.y }, long, tall);
  fillCurve(context, [...brow, ...jaw, ...placed('0.45,0.72 -0.07,0.7', nape, long, tall)], face);
  if (extra === 'stocky' || extra === 'big-mane') {
    fillEllipse(context, { x: nape.x + 0.01, y: nape.y - tall * 0.42 }, 0.05, 0.05, coat.shade);
    fillEllipse(context, muzzle, 0.034, 0.028, coat.dark);
  } else if (extra !== 'trunk') {
    if (extra === 'wool' || extra === 'spots') {
      fillEllipse(context, { x: nape.x - kind.neck[2] * 0.28, y: nape.y }, 0.075, 0.032, face, 0.45);
    } else {
      const tip = { x: nape.x, y: nape.y - tall * 0.4 };
      fillCurve(context, placed('-0.03,0.03 -0.06,-0.1 -0.05,-0.11 0.045,0.01', tip, 1, 1), coat.shade);
    }
    fillEllipse(context, { x: muzzle.x, y: muzzle.y + tall * 0.04 }, 0.018, 0.015, coat.dark);
  }
  const eye = { x: nape.x + long * 0.32, y: nape.y - tall * 0.02 };
  fillEllipse(context, eye, 0.016, 0.018, extra === 'wool' ? coat.bright : coat.dark);
}

function drawAntlers(context: Context, nape: Point, colour: Colour): void {
  for (const side of [-0.5, 0.6]) {
    const turn = (share: number): Point => ({
      x: nape.x + side * (0.02 + 0.19 * Math.sin(share * 1.6)),
      y: nape.y - 0.03 - share * 0.32,
    });
    strokeLine(context, [0, 0.25, 0.5, 0.75, 1].map(turn), 0.021, colour);
    for (const [share, reach] of [
      [0.3, 0.11],
      [0.6, 0.1],
      [0.85, 0.07],
    ] as const) {
      strokeLine(context, placed('0,0 0.75,-0.35 0.85,-1', turn(share), reach, reach), 0.015, colour);
    }
  }
}

/** What only this animal has about its head. */
export function drawExtra(stage: Stage, kind: Walker, frame: Frame, coat: Coat, depth: number): void {
  const { context, palette } = stage;
  const { half, deep, extra } = kind;
  const { back, nape } = frame;
  if (extra === 'trunk') {
    const ends = { x: nape.x + 0.27, y: -0.14 };
    strokeLine(
      context,
      [...placed('0.21,0.08 0.28,0.3', nape, 1, 1), ends, { x: ends.x + 0.04, y: -0.08 }],
      0.075,
      coat.body,
    );
    fillCurve(context, placed('0.02,-0.14 -0.2,-0.12 -0.24,0.14 -0.06,0.32 0.06,0.1', nape, 1, 1), coat.shade);
    const tusk = lit(palette, hex('#f2ead6'), depth);
    fillCurve(context, placed('0.18,0.16 0.3,0.28 0.35,0.12 0.29,0.34 0.17,0.24', nape, 1, 1), tusk);
  } else if (extra === 'mane' || extra === 'horn') {
    const hair = extra === 'horn' ? lit(palette, hex('#d99adf'), depth) : coat.dark;
    const crest = placed('0.05,-0.07 -0.12,-0.02', nape, 1, 1);
    const shoulder = placed('0.5,-0.14 0.42,0.12 0.72,0.02', { x: 0, y: back }, half, deep);
    fillCurve(context, [...crest, ...shoulder, { x: nape.x - 0.02, y: nape.y + 0.12 }], hair);
    const horn = placed('0.05,-0.04 0.13,-0.3 0.1,-0.034', nape, 1, 1);
    if (extra === 'horn') fillShape(context, horn, lit(palette, hex('#ffd873'), depth));
  } else if (extra === 'antlers') drawAntlers(context, nape, coat.shade);
}
