/**
 * Vehicles on water and land: sailing boats, rowing boats, ships, cars, trains. On water the foot is the waterline, and
 * a broken reflection lies below it.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import { lightSide } from '../stage.ts';
import type { Colour } from '../colour.ts';
import type { DrawThing, Look, Stage } from '../stage.ts';

/** Strokes of the vessel's colours under its waterline. In units of its height. */
function reflection(
  stage: Stage,
  look: Look,
  half: number,
  deep: number,
  colours: readonly [Colour, ...Colour[]],
): void {
  for (let row = 0; row < 12; row++) {
    const share = row / 12;
    const x = look.random.between(-0.2, 0.2) * half;
    const wide = half * (1 - share * 0.75) * look.random.between(0.5, 0.95);
    fillEllipse(
      stage.context,
      { x, y: 0.02 + share * deep },
      wide,
      0.011 + share * 0.008,
      css(look.random.pick(colours), 0.5 * (1 - share)),
    );
  }
}

export const drawSailboat: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const sail = lit(palette, look.colour ?? hex('#f7f1e3'), look.depth);
  const hull = lit(
    palette,
    look.colour === undefined ? look.random.pick([hex('#9c3f2e'), hex('#2f4a6b'), hex('#7a5233')]) : hex('#5d4636'),
    look.depth,
  );
  const isLitFromFront = lightSide(stage, foot.x) === look.facing;
  at(context, foot, size, look.facing, () => {
    reflection(stage, look, 0.36, 0.55, [sail, sail, hull]);
    context.save();
    context.rotate(0.035);
    strokeLine(context, outline('0,-0.1 0,-1'), 0.014, adjust(hull, -0.06));
    fillCurve(
      context,
      outline('-0.02,-0.98 -0.02,-0.97 -0.22,-0.5 -0.44,-0.2 -0.44,-0.2 -0.2,-0.18 -0.02,-0.19 -0.02,-0.19'),
      isLitFromFront ? adjust(sail, -0.05) : mix(sail, palette.rim, 0.3),
    );
    fillCurve(
      context,
      outline('0.025,-0.9 0.025,-0.9 0.2,-0.52 0.36,-0.16 0.36,-0.16 0.15,-0.17 0.025,-0.22 0.025,-0.22'),
      isLitFromFront ? mix(sail, palette.rim, 0.35) : adjust(sail, -0.09),
    );
    strokeLine(context, outline('0,-0.19 -0.45,-0.185'), 0.012, adjust(hull, -0.06));
    fillCurve(
      context,
      outline('-0.48,-0.14 -0.48,-0.14 0,-0.12 0.5,-0.17 0.5,-0.17 0.4,-0.02 0.26,0.03 -0.3,0.03 -0.44,-0.02'),
      hull,
    );
    strokeLine(context, outline('-0.46,-0.13 0,-0.115 0.47,-0.155'), 0.016, mix(hull, palette.rim, 0.5));
    context.restore();
    fillEllipse(context, { x: 0, y: 0.022 }, 0.5, 0.013, css(mix(palette.snow, palette.rim, 0.4), 0.5));
  });
};

export const drawRowboat: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const hull = lit(palette, look.colour ?? hex('#8a4b2f'), look.depth);
  const figure = mix(palette.land, lit(palette, hex('#3b4258'), look.depth), 0.5);
  at(context, foot, size, look.facing, () => {
    reflection(stage, look, 0.9, 0.7, [hull, figure]);
    fillCurve(context, outline('-0.12,-0.1 -0.2,-0.5 -0.12,-0.72 0.08,-0.72 0.14,-0.4 0.1,-0.1'), figure);
    fillEllipse(context, { x: 0, y: -0.86 }, 0.1, 0.12, lit(palette, hex('#d9a47f'), look.depth));
    fillCurve(context, outline('-0.14,-0.88 -0.2,-0.9 0,-1.06 0.2,-0.9 0.14,-0.88'), figure);
    strokeLine(context, outline('0.05,-0.55 0.36,-0.4 0.98,0.08'), 0.035, lit(palette, hex('#c9a06a'), look.depth));
    fillCurve(
      context,
      outline(
        '-1.05,-0.34 -1.05,-0.34 -0.5,-0.2 0.5,-0.2 1.05,-0.36 1.05,-0.36 0.85,-0.02 0.5,0.06 -0.5,0.06 -0.85,-0.02',
      ),
      hull,
    );
    strokeLine(context, outline('-1,-0.31 -0.5,-0.21 0.5,-0.21 1,-0.33'), 0.04, mix(hull, palette.rim, 0.45));
  });
};

export const drawShip: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const hull = lit(palette, look.colour ?? hex('#2c3e57'), look.depth);
  const deck = lit(palette, hex('#f1ede4'), look.depth);
  const funnel = lit(palette, hex('#c9463a'), look.depth);
  const lamp = palette.isDark || stage.time === 'sunset' ? hex('#ffd88a') : mix(palette.sky[0], palette.land, 0.3);
  at(context, foot, size, look.facing, () => {
    reflection(stage, look, 1.25, 0.5, [hull, hull, deck]);
    for (let puff = 0; puff < 12; puff++)
      fillEllipse(
        context,
        { x: -0.05 - puff * 0.1, y: -0.98 - puff * 0.045 },
        0.08 + puff * 0.022,
        0.06 + puff * 0.013,
        css(mix(palette.land, palette.haze, 0.6), 0.4 * (1 - puff / 13)),
      );
    for (const x of [-0.3, 0.05, 0.4]) {
      fillShape(context, points(x - 0.07, -0.5, x - 0.1, -0.94, x + 0.06, -0.94, x + 0.09, -0.5), funnel);
      fillShape(
        context,
        points(x - 0.1, -0.94, x - 0.095, -0.86, x + 0.068, -0.86, x + 0.06, -0.94),
        mix(palette.land, hex('#222222'), 0.4),
      );
    }
    fillBox(context, -0.8, -0.54, 1.6, 0.14, adjust(deck, -0.05));
    fillBox(context, -0.98, -0.42, 1.98, 0.14, deck);
    for (let port = 0; port < 18; port++) {
      fillBox(context, -0.9 + port * 0.1, -0.38, 0.04, 0.045, lamp);
      if (port > 1 && port < 16) fillBox(context, -0.9 + port * 0.1, -0.5, 0.04, 0.04, lamp);
    }
    fillShape(context, outline('-1.3,-0.3 1.42,-0.34 1.2,0.03 -1.16,0.03'), hull);
    fillShape(context, outline('-1.19,-0.03 1.24,-0.03 1.2,0.03 -1.16,0.03'), mix(funnel, hull, 0.35));
    strokeLine(context, outline('-1.3,-0.3 1.42,-0.34'), 0.02, mix(deck, palette.rim, 0.3));
    fillEllipse(context, { x: 0, y: 0.03 }, 1.3, 0.022, css(mix(palette.snow, palette.rim, 0.4), 0.5));
  });
};

export const drawCar: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const paint = lit(palette, look.colour ?? hex('#c9382f'), look.depth);
  const dark = mix(hex('#1b1c22'), palette.land, 0.3);
  const glass = mix(palette.sky[1], hex('#dbe9f0'), 0.35);
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0.01 }, 1.35, 0.07, css(dark, 0.4));
    if (palette.isDark) {
      const beam = context.createLinearGradient(1.2, 0, 3, 0);
      beam.addColorStop(0, css(hex('#fff2c0'), 0.55));
      beam.addColorStop(1, css(hex('#fff2c0'), 0));
      fillShape(context, outline('1.2,-0.44 3,-0.75 3,0.05 1.2,-0.3'), beam);
    }
    fillCurve(context, outline('-0.86,-0.52 -0.7,-0.92 -0.4,-1.02 0.2,-1.02 0.44,-0.9 0.72,-0.54'), paint);
    fillCurve(context, outline('-0.74,-0.55 -0.62,-0.85 -0.36,-0.93 -0.12,-0.93 -0.12,-0.55'), glass);
    fillCurve(context, outline('-0.03,-0.55 -0.03,-0.93 0.2,-0.93 0.36,-0.84 0.56,-0.55'), glass);
    fillCurve(
      context,
      outline('-1.28,-0.2 -1.3,-0.5 -1.1,-0.62 -0.7,-0.6 0.7,-0.6 1.12,-0.52 1.28,-0.38 1.28,-0.18 0,-0.16'),
      paint,
    );
    strokeLine(context, outline('-1.15,-0.5 0,-0.52 1.1,-0.44'), 0.03, mix(paint, palette.rim, 0.55));
    fillBox(context, -1.26, -0.24, 2.5, 0.06, adjust(paint, -0.13));
    for (const x of [-0.76, 0.76]) {
      fillEllipse(context, { x, y: -0.2 }, 0.24, 0.24, dark);
      fillEllipse(context, { x, y: -0.2 }, 0.13, 0.13, lit(palette, hex('#c3c7cc'), look.depth));
      fillEllipse(context, { x, y: -0.2 }, 0.05, 0.05, dark);
    }
    fillEllipse(context, { x: 1.2, y: -0.4 }, 0.06, 0.07, palette.isDark ? hex('#fff3c4') : hex('#efe9d6'));
    if (palette.isDark) glow(context, { x: 1.22, y: -0.4 }, 0.5, hex('#fff0b8'), 0.8);
    fillEllipse(context, { x: -1.26, y: -0.44 }, 0.04, 0.06, hex('#e0352c'));
  });
};

/** A steam train with three carriages on its own track across the image. */
export const drawTrain: DrawThing = (stage, foot, size, look) => {
  const { context, palette, width } = stage;
  const paint = lit(palette, look.colour ?? hex('#28563f'), look.depth);
  const dark = mix(hex('#1d1c22'), palette.land, 0.25);
  const brass = lit(palette, hex('#d2a24a'), look.depth);
  const lamp = palette.isDark || stage.time === 'sunset' ? hex('#ffd88a') : mix(palette.sky[1], hex('#dbe9f0'), 0.4);
  fillBox(context, -10, foot.y - size * 0.02, width + 20, size * 0.05, mix(palette.land, palette.rock, 0.4));
  at(context, foot, size, look.facing, () => {
    for (let puff = 0; puff < 22; puff++)
      fillEllipse(
        context,
        { x: 1.55 - puff * 0.21, y: -1.1 - Math.sqrt(puff) * 0.14 },
        0.12 + puff * 0.028,
        0.09 + puff * 0.02,
        css(mix(hex('#ffffff'), palette.haze, 0.45), 0.6 * (1 - puff / 23)),
      );
    for (let carriage = 0; carriage < 3; carriage++) {
      const x = -0.6 - carriage * 1.95;
      fillBox(context, x - 1.8, -0.86, 1.84, 0.66, lit(palette, hex('#a33a32'), look.depth));
      fillBox(context, x - 1.84, -0.92, 1.92, 0.09, dark);
      fillBox(context, x - 1.8, -0.44, 1.84, 0.035, brass);
      for (let window = 0; window < 6; window++) fillBox(context, x - 1.7 + window * 0.29, -0.76, 0.2, 0.24, lamp);
      for (const wheel of [-1.5, -1.15, -0.55, -0.2])
        fillEllipse(context, { x: x + wheel, y: -0.12 }, 0.12, 0.12, dark);
    }
    fillBox(context, -0.5, -1, 0.62, 0.8, paint);
    fillBox(context, -0.58, -1.08, 0.78, 0.1, dark);
    fillBox(context, -0.34, -0.88, 0.3, 0.26, lamp);
    fillBox(context, 0.1, -0.76, 1.6, 0.5, paint);
    for (const band of [0.4, 0.85, 1.3]) fillBox(context, band, -0.76, 0.045, 0.5, brass);
    fillShape(context, outline('1.42,-0.74 1.46,-1.08 1.66,-1.08 1.62,-0.74'), dark);
    fillBox(context, 1.4, -1.12, 0.32, 0.06, dark);
    fillEllipse(context, { x: 0.75, y: -0.78 }, 0.14, 0.11, brass);
    fillShape(context, outline('1.68,-0.3 2.05,-0.02 1.6,-0.02'), dark);
    fillBox(context, -0.5, -0.3, 2.2, 0.1, dark);
    for (const wheel of [-0.2, 0.3, 0.78]) {
      fillEllipse(context, { x: wheel, y: -0.19 }, 0.2, 0.2, adjust(lit(palette, hex('#b33a30'), look.depth), -0.05));
      fillEllipse(context, { x: wheel, y: -0.19 }, 0.1, 0.1, dark);
    }
    strokeLine(context, outline('-0.2,-0.14 0.78,-0.14'), 0.05, brass);
    fillEllipse(context, { x: 1.38, y: -0.12 }, 0.13, 0.13, dark);
    fillEllipse(context, { x: 1.72, y: -0.52 }, 0.07, 0.09, hex('#fff0b8'));
    if (palette.isDark) glow(context, { x: 1.75, y: -0.52 }, 0.7, hex('#fff0b8'), 0.9);
  });
};
