/**
 * The necks and heads of four-legged animals, with the features that only one of them has: antlers, mane, horn, tusks.
 */
import { css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillCurve, fillEllipse, fillShape, placed, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, Point, Stage } from '../stage.ts';
import type { Walker, Coat, Frame } from './walker-bodies.ts';

function isFill(fill: Coat['form']): fill is Colour {
  return Array.isArray(fill);
}

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
  context.fillStyle = isFill(coat.form) ? css(coat.form) : coat.form;
  context.fill();
  if (kind.marks === 'patches' || kind.marks === 'stripes') {
    const dark = kind.marks === 'patches' ? mix(coat.shade, coat.dark, 0.45) : coat.dark;
    const foot = { x: half * 0.72, y: back + deep * 0.16 };
    for (let mark = 0; mark < 5; mark++) {
      const share = (mark + 0.6) / 5;
      const position = { x: foot.x + (nape.x - foot.x) * share, y: foot.y + (nape.y - foot.y) * share + 0.02 };
      const reach = wide * (0.46 - share * 0.16);
      if (kind.marks === 'patches') fillEllipse(context, position, reach * 0.7, reach * 0.62, css(dark, 0.85), 0.5);
      else strokeLine(context, placed('-0.9,-0.3 0,0.05 0.7,0.1', position, reach, reach), 0.022, dark, 0.88);
    }
  }
}

/** The head, in a box from the nape to the muzzle (0 to 1) and of its own depth. */
export function drawHead(context: Context, kind: Walker, frame: Frame, coat: Coat): void {
  const { extra } = kind;
  const { nape } = frame;
  const [long, tall] = kind.head;
  const face = extra === 'wool' ? coat.dark : coat.form;
  const muzzle = { x: nape.x + long * 0.93, y: nape.y + long * 0.42 };
  const isRound = extra === 'stocky' || extra === 'big-mane' || extra === 'cat';
  if (extra === 'big-mane') drawLionMane(context, nape, coat);
  if (isRound) {
    // The far ear first, then the near one over the head.
    const ear = kind.marks === 'panda' ? coat.dark : coat.shade;
    for (const x of [0.07, -0.01]) fillEllipse(context, { x: nape.x + x, y: nape.y - tall * 0.46 }, 0.052, 0.055, ear);
    fillEllipse(context, { x: nape.x - 0.008, y: nape.y - tall * 0.44 }, 0.027, 0.03, mix(coat.dark, coat.body, 0.4));
  }
  const brow = placed('-0.35,-0.2 -0.07,-0.52 0.4,-0.4', nape, long, tall);
  const jaw = placed('0.95,-0.34 1.04,0.12 0.9,0.42', { x: nape.x, y: muzzle.y }, long, tall);
  fillCurve(context, [...brow, ...jaw, ...placed('0.45,0.72 -0.07,0.7', nape, long, tall)], face);
  if (extra !== 'wool' && extra !== 'trunk') {
    // The cheek, and a muzzle of its own colour.
    fillEllipse(
      context,
      { x: nape.x + long * 0.18, y: nape.y + tall * 0.2 },
      long * 0.26,
      tall * 0.34,
      css(coat.shade, 0.28),
    );
    const snout = isRound ? mix(coat.bright, hex('#f3e6d2'), 0.45) : mix(coat.dark, coat.body, 0.45);
    fillEllipse(
      context,
      { x: muzzle.x - long * 0.1, y: muzzle.y + tall * 0.06 },
      long * 0.15,
      tall * 0.3,
      css(snout, 0.8),
      0.5,
    );
  }
  if (isRound) fillEllipse(context, { x: muzzle.x + long * 0.02, y: muzzle.y - tall * 0.06 }, 0.034, 0.026, coat.dark);
  else if (extra !== 'trunk') {
    if (extra === 'wool' || extra === 'spots') {
      fillEllipse(context, { x: nape.x - kind.neck[2] * 0.28, y: nape.y }, 0.075, 0.032, face, 0.45);
    } else {
      const tip = { x: nape.x, y: nape.y - tall * 0.4 };
      fillCurve(context, placed('0.0,0.03 0.02,-0.11 0.035,-0.12 0.07,0.02', tip, 1, 1), coat.shade);
      fillCurve(context, placed('-0.04,0.04 -0.035,-0.1 -0.02,-0.12 0.035,0.02', tip, 1, 1), coat.body);
      fillCurve(context, placed('-0.02,0.02 -0.024,-0.07 -0.018,-0.08 0.012,0.01', tip, 1, 1), coat.shade);
    }
    fillEllipse(context, { x: muzzle.x + long * 0.02, y: muzzle.y - tall * 0.02 }, 0.014, 0.011, coat.dark);
    strokeLine(context, placed('0.02,0.24 -0.16,0.2', muzzle, long, tall), 0.008, coat.dark, 0.6);
  }
  const eye = { x: nape.x + long * (isRound ? 0.5 : 0.32), y: nape.y - tall * 0.02 };
  if (kind.marks === 'panda') fillEllipse(context, eye, 0.04, 0.05, coat.dark, 0.4);
  fillEllipse(context, eye, 0.018, 0.019, extra === 'wool' || kind.marks === 'panda' ? coat.bright : coat.dark);
  fillEllipse(context, { x: eye.x + 0.006, y: eye.y - 0.007 }, 0.006, 0.006, css(hex('#ffffff'), 0.9));
  if (kind.marks === 'stripes' && isRound) {
    for (const x of [-0.1, 0.05, 0.2])
      strokeLine(context, placed(`${x},-0.44 ${x + 0.06},-0.22`, nape, long, tall), 0.014, coat.dark, 0.85);
  }
}

/** A mane of locks, darker at its rim. */
function drawLionMane(context: Context, nape: Point, coat: Coat): void {
  const centre = { x: nape.x + 0.03, y: nape.y + 0.06 };
  for (const [reach, share] of [
    [0.215, 0.3],
    [0.165, 0.5],
  ] as const) {
    const tone = mix(coat.dark, coat.body, share);
    fillEllipse(context, centre, reach, reach * 1.14, tone);
    for (let lock = 0; lock < 18; lock++) {
      const angle = (lock / 18) * Math.PI * 2;
      const position = { x: centre.x + Math.cos(angle) * reach * 0.86, y: centre.y + Math.sin(angle) * reach };
      fillEllipse(context, position, 0.062, 0.032, lock % 2 === 0 ? tone : mix(tone, coat.dark, 0.18), angle + 0.4);
    }
  }
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

/** The features that only this animal has on its head. */
export function drawExtra(stage: Stage, kind: Walker, frame: Frame, coat: Coat, depth: number): void {
  const { context, palette } = stage;
  const { half, deep, extra } = kind;
  const { back, nape } = frame;
  if (extra === 'trunk') {
    // Down to the ground, thinner all the way, with its end curled forward.
    const trunk =
      '0.1,-0.02 0.24,0.06 0.31,0.22 0.33,0.38 0.36,0.46 0.43,0.44 0.46,0.48 0.4,0.54 0.31,0.53 0.25,0.42 0.22,0.28 0.12,0.2';
    fillCurve(context, placed(trunk, nape, 1, 1), coat.form);
    for (let ring = 0; ring < 6; ring++) {
      const y = 0.14 + ring * 0.055;
      strokeLine(
        context,
        placed(`${0.2 + ring * 0.01},${y + 0.01} ${0.27 + ring * 0.009},${y}`, nape, 1, 1),
        0.007,
        coat.shade,
        0.7,
      );
    }
    const ear = '0.03,-0.15 -0.12,-0.17 -0.23,-0.06 -0.25,0.12 -0.15,0.3 -0.06,0.34 0.02,0.2 0.07,0.02';
    fillCurve(context, placed(ear, nape, 1, 1), coat.shade);
    fillCurve(
      context,
      placed('0,-0.1 -0.1,-0.11 -0.18,-0.02 -0.19,0.1 -0.1,0.22 -0.03,0.14', nape, 1, 1),
      css(coat.dark, 0.13),
    );
    const tusk = lit(palette, hex('#f2ead6'), depth);
    fillCurve(
      context,
      placed('0.16,0.17 0.26,0.29 0.36,0.28 0.41,0.18 0.35,0.34 0.24,0.36 0.14,0.25', nape, 1, 1),
      tusk,
    );
  } else if (extra === 'mane' || extra === 'horn') {
    const hair = extra === 'horn' ? lit(palette, hex('#d99adf'), depth) : coat.dark;
    const crest = placed('0.05,-0.07 -0.12,-0.02', nape, 1, 1);
    const shoulder = placed('0.5,-0.14 0.42,0.12 0.72,0.02', { x: 0, y: back }, half, deep);
    fillCurve(context, [...crest, ...shoulder, { x: nape.x - 0.02, y: nape.y + 0.12 }], hair);
    const horn = placed('0.05,-0.04 0.13,-0.3 0.1,-0.034', nape, 1, 1);
    if (extra === 'horn') fillShape(context, horn, lit(palette, hex('#ffd873'), depth));
  } else if (extra === 'antlers') drawAntlers(context, nape, coat.shade);
  else if (extra === 'ossicones') {
    for (const x of [0.02, 0.07]) {
      strokeLine(context, placed(`${x},-0.05 ${x - 0.01},-0.12`, nape, 1, 1), 0.016, coat.shade);
      fillEllipse(context, { x: nape.x + x - 0.01, y: nape.y - 0.125 }, 0.014, 0.012, coat.dark);
    }
  }
}
