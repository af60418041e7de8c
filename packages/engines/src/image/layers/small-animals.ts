/**
 * Smaller animals that are not walkers: penguins, frogs, turtles, parrots, bees; and the octopus.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, downwards, fillCurve, fillEllipse, fillShape, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';

const WHITE = hex('#ffffff');
const PUPIL = hex('#17141a');

export const drawPenguin: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const coat = lit(palette, look.colour ?? hex('#262b36'), look.depth);
  const belly = lit(palette, hex('#f4f1ea'), look.depth);
  const beak = lit(palette, hex('#e8932c'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 0.3, 0.03, css(mix(palette.sky[0], palette.land, 0.5), 0.3));
    for (const x of [-0.11, 0.13]) fillEllipse(context, { x, y: -0.02 }, 0.1, 0.03, beak);
    fillCurve(context, outline('-0.3,-0.64 -0.4,-0.4 -0.36,-0.24 -0.26,-0.4'), adjust(coat, -0.04));
    fillCurve(
      context,
      outline(
        '-0.14,-0.98 -0.2,-0.8 -0.3,-0.55 -0.3,-0.22 -0.18,-0.01 0.18,-0.01 0.3,-0.22 0.3,-0.55 0.2,-0.8 0.14,-0.98 0,-1.02',
      ),
      coat,
    );
    const front = downwards(context, -0.8, 0, css(belly), css(mix(belly, palette.sky[1], 0.28)));
    fillCurve(
      context,
      outline('0,-0.74 -0.16,-0.62 -0.2,-0.3 -0.12,-0.06 0.16,-0.06 0.24,-0.3 0.22,-0.62 0.1,-0.74'),
      front,
    );
    fillCurve(context, outline('0.28,-0.64 0.42,-0.44 0.4,-0.24 0.26,-0.38'), coat);
    fillEllipse(context, { x: 0.05, y: -0.86 }, 0.11, 0.08, belly);
    fillEllipse(context, { x: -0.1, y: -0.78 }, 0.05, 0.07, lit(palette, hex('#f2b63c'), look.depth));
    fillEllipse(context, { x: 0.06, y: -0.88 }, 0.024, 0.028, PUPIL);
    fillEllipse(context, { x: 0.068, y: -0.89 }, 0.008, 0.009, WHITE);
    fillShape(context, outline('0.14,-0.88 0.3,-0.82 0.14,-0.8'), beak);
  });
};

export const drawFrog: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const skin = lit(palette, look.colour ?? hex('#5aa83f'), look.depth);
  const belly = lit(palette, hex('#dfe8a8'), look.depth);
  const shade = adjust(skin, -0.1);
  at(context, foot, size, look.facing, () => {
    // The leaf that it sits on.
    const leaf = lit(palette, hex('#3f8f52'), look.depth);
    fillEllipse(context, { x: 0, y: 0 }, 1.15, 0.16, adjust(leaf, -0.08));
    fillEllipse(context, { x: 0, y: -0.03 }, 1.12, 0.15, leaf);
    for (const x of [-0.8, -0.35, 0.4, 0.85])
      strokeLine(context, points(0, -0.02, x, -0.04), 0.012, mix(leaf, palette.rim, 0.3), 0.6);
    for (const side of [-1, 1]) {
      fillCurve(
        context,
        points(side * 0.3, -0.36, side * 0.66, -0.42, side * 0.72, -0.16, side * 0.5, -0.02, side * 0.3, -0.06),
        shade,
      );
      fillEllipse(context, { x: side * 0.58, y: -0.03 }, 0.2, 0.045, shade);
    }
    const form = downwards(context, -0.75, 0, css(mix(skin, palette.rim, 0.3)), css(skin), css(shade));
    fillCurve(context, outline('-0.42,-0.5 -0.46,-0.22 -0.34,-0.03 0.34,-0.03 0.46,-0.22 0.42,-0.5 0,-0.66'), form);
    fillEllipse(context, { x: 0, y: -0.22 }, 0.27, 0.19, belly);
    fillCurve(context, outline('-0.46,-0.62 -0.48,-0.42 0,-0.32 0.48,-0.42 0.46,-0.62 0.2,-0.76 -0.2,-0.76'), form);
    strokeLine(context, outline('-0.4,-0.5 -0.16,-0.42 0.16,-0.42 0.4,-0.5'), 0.02, adjust(skin, -0.25));
    for (const side of [-1, 1]) {
      fillEllipse(context, { x: side * 0.26, y: -0.8 }, 0.16, 0.16, skin);
      fillEllipse(context, { x: side * 0.27, y: -0.81 }, 0.115, 0.115, lit(palette, hex('#f4e7a0'), look.depth * 0.5));
      fillEllipse(context, { x: side * 0.28, y: -0.81 }, 0.055, 0.085, PUPIL);
      fillEllipse(context, { x: side * 0.28 + 0.03, y: -0.85 }, 0.022, 0.022, WHITE);
      fillEllipse(context, { x: side * 0.04, y: -0.6 }, 0.012, 0.01, adjust(skin, -0.25));
      strokeLine(context, points(side * 0.22, -0.3, side * 0.28, -0.1, side * 0.24, -0.02), 0.09, skin);
    }
  });
};

export const drawTurtle: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const shell = lit(palette, look.colour ?? hex('#6d7a3c'), look.depth);
  const skin = lit(palette, hex('#8aa860'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 0.95, 0.06, css(palette.land, 0.35));
    for (const x of [-0.55, 0.42])
      fillCurve(
        context,
        points(x - 0.13, -0.34, x + 0.16, -0.34, x + 0.2, -0.02, x - 0.16, -0.02),
        adjust(skin, -0.05),
      );
    fillCurve(context, outline('0.6,-0.36 0.8,-0.66 1.06,-0.72 1.2,-0.56 1.12,-0.42 0.9,-0.42 0.7,-0.2'), skin);
    fillEllipse(context, { x: 1.06, y: -0.6 }, 0.035, 0.04, PUPIL);
    strokeLine(context, outline('1.02,-0.48 1.16,-0.5'), 0.016, adjust(skin, -0.2));
    fillShape(context, outline('-0.86,-0.22 -1.06,-0.12 -0.8,-0.12'), skin);
    const dome = downwards(context, -1, -0.1, css(mix(shell, palette.rim, 0.4)), css(shell), css(adjust(shell, -0.14)));
    fillCurve(context, outline('-0.9,-0.2 -0.84,-0.56 -0.5,-0.9 0,-1 0.5,-0.88 0.8,-0.52 0.84,-0.2 0,-0.14'), dome);
    for (const [x, y, half] of [
      [-0.45, -0.52, 0.17],
      [0, -0.62, 0.2],
      [0.44, -0.5, 0.16],
    ] as const)
      fillShape(
        context,
        points(
          x - half,
          y,
          x - half * 0.5,
          y - 0.2,
          x + half * 0.5,
          y - 0.2,
          x + half,
          y,
          x + half * 0.5,
          y + 0.2,
          x - half * 0.5,
          y + 0.2,
        ),
        css(adjust(shell, -0.12), 0.6),
      );
    strokeLine(context, outline('-0.88,-0.2 0,-0.13 0.84,-0.2'), 0.05, mix(shell, hex('#e4d69a'), 0.45));
  });
};

/** A parrot on a branch of its own. */
export const drawParrot: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const coat = lit(
    palette,
    look.colour ?? look.random.pick([hex('#d2342c'), hex('#2f9c4f'), hex('#2a6fc0')]),
    look.depth,
  );
  const wing = lit(palette, look.colour === undefined ? hex('#2f66b8') : adjust(look.colour, -0.15), look.depth);
  const wood = lit(palette, hex('#6b4a30'), look.depth);
  at(context, foot, size, look.facing, () => {
    strokeLine(context, outline('-1.3,-0.1 -0.4,-0.2 0.5,-0.16 1.2,-0.3'), 0.075, wood);
    strokeLine(context, outline('-1.3,-0.12 -0.4,-0.22 0.5,-0.18'), 0.02, mix(wood, palette.rim, 0.4), 0.7);
    strokeLine(context, outline('-0.9,-0.14 -1.02,0.4 -0.98,0.6'), 0.03, wood);
    for (const [x, y, turn] of [
      [-1.1, -0.22, -0.5],
      [1.02, -0.36, -0.6],
      [0.9, -0.16, 0.5],
      [-0.8, -0.04, 0.6],
    ] as const)
      fillEllipse(context, { x, y }, 0.2, 0.07, lit(palette, hex('#4c8f45'), look.depth), turn);
    fillCurve(context, outline('-0.12,-0.3 -0.2,0.1 -0.12,0.46 -0.02,0.42 0.06,-0.1'), wing);
    fillCurve(context, outline('-0.04,-0.2 -0.06,0.2 0.02,0.4 0.06,0.1'), coat);
    const form = downwards(context, -1, -0.1, css(mix(coat, palette.rim, 0.3)), css(coat), css(adjust(coat, -0.1)));
    fillCurve(
      context,
      outline('0.02,-1 -0.2,-0.9 -0.22,-0.66 -0.26,-0.4 -0.12,-0.16 0.1,-0.18 0.24,-0.4 0.24,-0.66 0.24,-0.88'),
      form,
    );
    fillCurve(context, outline('-0.14,-0.66 -0.3,-0.44 -0.26,-0.1 -0.14,0.02 0.02,-0.3 0.04,-0.56'), wing);
    fillCurve(context, outline('-0.13,-0.62 -0.2,-0.5 0,-0.48 0.03,-0.56'), lit(palette, hex('#f2c63c'), look.depth));
    for (const y of [-0.34, -0.22, -0.1])
      strokeLine(context, points(-0.24, y, -0.08, y + 0.02), 0.012, adjust(wing, -0.14), 0.8);
    fillEllipse(context, { x: 0.1, y: -0.82 }, 0.1, 0.085, lit(palette, hex('#f6f1e6'), look.depth));
    fillEllipse(context, { x: 0.1, y: -0.84 }, 0.034, 0.036, PUPIL);
    fillEllipse(context, { x: 0.112, y: -0.853 }, 0.011, 0.011, WHITE);
    fillCurve(
      context,
      outline('0.18,-0.9 0.36,-0.82 0.36,-0.6 0.3,-0.58 0.27,-0.7 0.16,-0.74'),
      lit(palette, hex('#2d2a2b'), look.depth),
    );
    for (const x of [-0.04, 0.1])
      strokeLine(context, points(x, -0.2, x, -0.13), 0.05, lit(palette, hex('#55504c'), look.depth));
  });
};

export const drawBee: DrawThing = (stage, centre, size, look) => {
  const { context, palette } = stage;
  const gold = lit(palette, look.colour ?? hex('#f2b92e'), look.depth);
  const dark = lit(palette, hex('#2a2220'), look.depth);
  at(context, centre, size, look.facing, () => {
    for (const turn of [-0.5, 0.1])
      fillEllipse(
        context,
        { x: -0.06 + turn * 0.3, y: -0.34 },
        0.17,
        0.34,
        css(mix(hex('#eaf4fa'), palette.sky[2], 0.2), 0.7),
        turn,
      );
    fillEllipse(context, { x: -0.08, y: 0 }, 0.46, 0.28, gold);
    context.save();
    context.beginPath();
    context.ellipse(-0.08, 0, 0.46, 0.28, 0, 0, Math.PI * 2);
    context.clip();
    for (const x of [-0.38, -0.18, 0.02]) strokeLine(context, points(x, -0.32, x + 0.04, 0, x, 0.32), 0.1, dark);
    context.restore();
    fillEllipse(context, { x: 0.36, y: -0.02 }, 0.19, 0.2, dark);
    fillEllipse(context, { x: 0.42, y: -0.07 }, 0.06, 0.075, WHITE);
    fillEllipse(context, { x: 0.44, y: -0.06 }, 0.03, 0.045, PUPIL);
    for (const lift of [-0.34, -0.26]) strokeLine(context, points(0.42, -0.18, 0.56, lift), 0.022, dark);
    fillShape(context, outline('-0.52,-0.04 -0.66,0.02 -0.52,0.06'), dark);
  });
};

export const drawOctopus: DrawThing = (stage, centre, size, look) => {
  const { context, palette } = stage;
  const skin = lit(
    palette,
    look.colour ?? look.random.pick([hex('#d2603f'), hex('#b4568c'), hex('#c98a3c')]),
    look.depth,
  );
  const shade = adjust(skin, -0.1);
  at(context, centre, size, look.facing, () => {
    for (let arm = 0; arm < 8; arm++) {
      const out = (arm - 3.5) / 3.5;
      const bend = arm % 2 === 0 ? 0.16 : -0.14;
      const path = [0, 0.25, 0.5, 0.75, 1].map((share) => ({
        x: out * (0.2 + share * 0.62) + Math.sin(share * 5 + arm) * 0.07 * share,
        y: 0.1 + share * (0.66 - Math.abs(out) * 0.34) + bend * share * share,
      }));
      for (const [index, position] of path.slice(0, -1).entries()) {
        const next = path[index + 1] ?? position;
        strokeLine(context, [position, next], 0.15 - index * 0.032, arm % 2 === 0 ? skin : shade);
        fillEllipse(
          context,
          { x: (position.x + next.x) / 2, y: (position.y + next.y) / 2 },
          0.026 - index * 0.004,
          0.024 - index * 0.004,
          css(mix(skin, hex('#ffe9dc'), 0.6), 0.9),
        );
      }
    }
    const form = downwards(context, -0.75, 0.2, css(mix(skin, palette.rim, 0.35)), css(skin), css(shade));
    fillCurve(
      context,
      outline('0,-0.78 -0.34,-0.66 -0.42,-0.34 -0.28,-0.04 -0.3,0.16 0,0.24 0.3,0.16 0.28,-0.04 0.42,-0.34 0.34,-0.66'),
      form,
    );
    for (const [x, y, radius] of [
      [-0.2, -0.52, 0.045],
      [-0.05, -0.62, 0.03],
      [0.18, -0.56, 0.04],
      [0.26, -0.36, 0.028],
    ] as const)
      fillEllipse(context, { x, y }, radius, radius * 0.8, css(shade, 0.6));
    for (const side of [-1, 1]) {
      fillEllipse(context, { x: side * 0.15, y: -0.12 }, 0.1, 0.105, hex('#f7f0dd'));
      fillEllipse(context, { x: side * 0.15 + 0.01, y: -0.11 }, 0.055, 0.05, PUPIL);
      fillEllipse(context, { x: side * 0.15 + 0.03, y: -0.14 }, 0.018, 0.018, WHITE);
    }
    strokeLine(context, outline('-0.06,0.06 0,0.09 0.06,0.06'), 0.018, adjust(skin, -0.25));
  });
};
