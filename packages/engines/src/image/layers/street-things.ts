/**
 * Vehicles and things of streets and parks: bicycles, motorcycles, lamp posts, benches, umbrellas.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { Context, DrawThing, Point } from '../stage.ts';

function ring(context: Context, centre: Point, radius: number, width: number, colour: Colour): void {
  context.beginPath();
  context.ellipse(centre.x, centre.y, radius, radius, 0, 0, Math.PI * 2);
  context.lineWidth = width;
  context.strokeStyle = css(colour);
  context.stroke();
}

export const drawBicycle: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const frame = lit(
    palette,
    look.colour ?? look.random.pick([hex('#c8452f'), hex('#2f7f86'), hex('#e0b03c')]),
    look.depth,
  );
  const dark = lit(palette, hex('#26242a'), look.depth);
  const steel = lit(palette, hex('#b8bfc6'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 0.86, 0.03, css(palette.land, 0.35));
    for (const x of [-0.5, 0.5]) {
      const hub = { x, y: -0.32 };
      for (let spoke = 0; spoke < 12; spoke++) {
        const angle = (spoke / 12) * Math.PI * 2;
        const rim = { x: x + Math.cos(angle) * 0.29, y: -0.32 + Math.sin(angle) * 0.29 };
        strokeLine(context, [hub, rim], 0.006, steel, 0.8);
      }
      ring(context, hub, 0.3, 0.035, dark);
      ring(context, hub, 0.265, 0.012, steel);
    }
    strokeLine(context, outline('-0.5,-0.32 -0.08,-0.3 0.36,-0.74 -0.2,-0.72 -0.5,-0.32'), 0.04, frame);
    strokeLine(context, outline('-0.08,-0.3 -0.23,-0.82'), 0.04, frame);
    strokeLine(context, outline('0.5,-0.32 0.34,-0.86'), 0.036, adjust(frame, -0.06));
    strokeLine(context, outline('0.34,-0.86 0.42,-0.93 0.54,-0.9'), 0.03, dark);
    fillCurve(
      context,
      outline('-0.36,-0.86 -0.28,-0.89 -0.1,-0.86 -0.12,-0.83 -0.3,-0.82'),
      lit(palette, hex('#5a3a26'), look.depth),
    );
    ring(context, { x: -0.08, y: -0.3 }, 0.075, 0.018, steel);
    strokeLine(context, outline('-0.08,-0.3 0,-0.17'), 0.022, dark);
    strokeLine(context, outline('-0.05,-0.17 0.06,-0.17'), 0.03, dark);
  });
};

export const drawMotorcycle: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const paint = lit(
    palette,
    look.colour ?? look.random.pick([hex('#b3262b'), hex('#23262e'), hex('#2c5d8c')]),
    look.depth,
  );
  const dark = lit(palette, hex('#1f1e23'), look.depth);
  const chrome = lit(palette, hex('#c9ced4'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 1.05, 0.04, css(palette.land, 0.4));
    for (const x of [-0.62, 0.66]) {
      ring(context, { x, y: -0.34 }, 0.28, 0.12, dark);
      ring(context, { x, y: -0.34 }, 0.2, 0.025, chrome);
      fillEllipse(context, { x, y: -0.34 }, 0.07, 0.07, chrome);
    }
    strokeLine(context, outline('-0.92,-0.26 -0.3,-0.22 0.06,-0.28'), 0.075, chrome);
    fillCurve(context, outline('-0.28,-0.56 -0.24,-0.24 0.2,-0.22 0.3,-0.54 0,-0.62'), dark);
    for (let fin = 0; fin < 4; fin++)
      strokeLine(context, outline(`-0.12,${-0.5 + fin * 0.06} 0.16,${-0.5 + fin * 0.06}`), 0.018, chrome);
    strokeLine(context, outline('0.66,-0.34 0.42,-0.86'), 0.06, chrome);
    fillCurve(context, outline('-0.18,-0.6 -0.1,-0.82 0.2,-0.86 0.44,-0.72 0.3,-0.56 0,-0.54'), paint);
    fillCurve(context, outline('-0.06,-0.76 0.14,-0.82 0.34,-0.74 0.12,-0.74'), css(mix(paint, palette.rim, 0.6), 0.7));
    fillCurve(context, outline('-0.86,-0.76 -0.6,-0.72 -0.16,-0.6 -0.2,-0.5 -0.62,-0.54 -0.9,-0.66'), dark);
    fillCurve(context, outline('-0.98,-0.5 -0.84,-0.66 -0.5,-0.66 -0.36,-0.5 -0.6,-0.58 -0.82,-0.56'), paint);
    fillCurve(context, outline('0.42,-0.6 0.6,-0.68 0.86,-0.62 0.94,-0.48 0.7,-0.58'), paint);
    strokeLine(context, outline('0.42,-0.86 0.3,-0.98 0.14,-0.96'), 0.035, chrome);
    fillEllipse(context, { x: 0.52, y: -0.82 }, 0.085, 0.09, chrome);
    if (palette.isDark) glow(context, { x: 0.6, y: -0.82 }, 0.5, hex('#ffe9b0'), 0.8);
    fillEllipse(context, { x: 0.56, y: -0.82 }, 0.05, 0.065, hex('#fff3cf'));
  });
};

export const drawLamppost: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const iron = lit(palette, look.colour ?? hex('#2b2f36'), look.depth);
  at(context, foot, size, 1, () => {
    fillEllipse(context, { x: 0, y: 0 }, 0.09, 0.012, css(palette.land, 0.4));
    fillShape(context, outline('-0.05,0 -0.035,-0.08 0.035,-0.08 0.05,0'), iron);
    fillShape(context, outline('-0.016,-0.06 -0.011,-0.82 0.011,-0.82 0.016,-0.06'), iron);
    strokeLine(context, outline('-0.005,-0.1 -0.004,-0.8'), 0.006, mix(iron, palette.rim, 0.5), 0.7);
    fillBox(context, -0.03, -0.83, 0.06, 0.015, iron);
    const pane = palette.isDark ? hex('#ffe2a0') : mix(hex('#fff4d8'), palette.sky[2], 0.35);
    if (palette.isDark) glow(context, { x: 0, y: -0.89 }, 0.42, hex('#ffcf7a'), 0.85);
    fillShape(context, outline('-0.04,-0.83 -0.06,-0.945 0.06,-0.945 0.04,-0.83'), pane);
    strokeLine(context, outline('0,-0.83 0,-0.945'), 0.008, iron);
    fillShape(context, outline('-0.075,-0.94 0,-1 0.075,-0.94'), iron);
    fillEllipse(context, { x: 0, y: -1.005 }, 0.012, 0.014, iron);
  });
};

export const drawBench: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const wood = lit(palette, look.colour ?? hex('#8c5a34'), look.depth);
  const iron = lit(palette, hex('#2b2c31'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 1.05, 0.06, css(palette.land, 0.35));
    for (const x of [-0.82, 0.82]) {
      strokeLine(context, outline(`${x - 0.1},0 ${x},-0.44 ${x + 0.04},-1`), 0.05, iron);
      strokeLine(context, outline(`${x + 0.1},0 ${x + 0.06},-0.44`), 0.05, iron);
      strokeLine(context, outline(`${x - 0.04},-0.62 ${x - 0.16},-0.6`), 0.045, iron);
    }
    for (const y of [-0.98, -0.82, -0.66]) {
      fillBox(context, -1, y, 2, 0.11, wood);
      fillBox(context, -1, y, 2, 0.025, mix(wood, palette.rim, 0.4));
    }
    for (const y of [-0.5, -0.42]) {
      fillBox(context, -1.02, y, 2.04, 0.075, adjust(wood, -0.03));
      fillBox(context, -1.02, y, 2.04, 0.02, mix(wood, palette.rim, 0.45));
    }
  });
};

/** An open umbrella that stands on the ground. */
export const drawUmbrella: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const cloth = lit(
    palette,
    look.colour ?? look.random.pick([hex('#c8352f'), hex('#e0b13a'), hex('#2f6f9c')]),
    look.depth,
  );
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 0.5, 0.04, css(palette.land, 0.3));
    strokeLine(context, outline('0,-0.9 0,-0.06'), 0.025, lit(palette, hex('#5a4030'), look.depth));
    const panels = [-0.66, -0.34, 0, 0.34, 0.66];
    fillCurve(
      context,
      outline('-0.66,-0.44 -0.6,-0.72 -0.34,-0.92 0,-1 0.34,-0.92 0.6,-0.72 0.66,-0.44 0.34,-0.52 0,-0.48 -0.34,-0.52'),
      cloth,
    );
    for (const [index, x] of panels.slice(0, -1).entries()) {
      const to = panels[index + 1] ?? x;
      const tone = index % 2 === 0 ? adjust(cloth, -0.05) : mix(cloth, palette.rim, 0.16);
      fillCurve(
        context,
        outline(
          `0,-0.98 ${x * 0.86},-0.74 ${x * 0.98},-0.46 ${(x + to) / 2},-0.53 ${to * 0.98},-0.46 ${to * 0.86},-0.74`,
        ),
        css(tone, 0.75),
      );
    }
    strokeLine(context, outline('0,-0.98 0,-1.05'), 0.02, adjust(cloth, -0.2));
  });
};
