/**
 * People and similar figures, seen from a distance: without faces, as in a landscape painting; astronauts, robots,
 * snowmen.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import { drawCostumed } from './costumes.ts';
import { lightSide } from '../stage.ts';
import type { DrawThing } from '../stage.ts';

/** A wanderer in a long coat, seen from behind. */
export const drawPerson: DrawThing = (stage, foot, size, look) => {
  if (drawCostumed(stage, foot, size, look)) return;
  const { context, palette } = stage;
  const coat = lit(
    palette,
    look.colour ?? look.random.pick([hex('#3d4a66'), hex('#8c3b32'), hex('#4c5a45'), hex('#b0863c')]),
    look.depth,
  );
  const trousers = lit(palette, hex('#33333d'), look.depth);
  const skin = lit(palette, look.random.pick([hex('#e3b08c'), hex('#b87d57'), hex('#7a4d36')]), look.depth);
  const hair = lit(palette, look.random.pick([hex('#2d221d'), hex('#6b4226'), hex('#b98a4a')]), look.depth);
  const hat = look.random.chance(0.35);
  const isWindy = stage.weather.has('wind') || stage.weather.has('storm');
  at(context, foot, size, look.facing, () => {
    fillEllipse(
      context,
      { x: -lightSide(stage, foot.x) * look.facing * 0.12, y: 0 },
      0.22,
      0.022,
      css(palette.land, 0.35),
    );
    strokeLine(context, outline('-0.055,-0.4 -0.07,-0.02'), 0.075, trousers);
    strokeLine(context, outline('0.055,-0.4 0.075,-0.02'), 0.075, adjust(trousers, -0.03));
    strokeLine(context, outline('-0.09,-0.012 -0.05,-0.012'), 0.045, hex('#241d1c'));
    strokeLine(context, outline('0.07,-0.012 0.11,-0.012'), 0.045, hex('#241d1c'));
    const flap = isWindy ? 0.14 : 0;
    strokeLine(context, outline('-0.13,-0.76 -0.18,-0.56 -0.155,-0.4'), 0.07, adjust(coat, -0.07));
    fillCurve(
      context,
      points(
        -0.12,
        -0.82,
        -0.15,
        -0.6,
        -0.17 - flap,
        -0.34,
        -0.14 - flap,
        -0.27,
        0.14,
        -0.29,
        0.17,
        -0.34,
        0.15,
        -0.6,
        0.13,
        -0.82,
        0,
        -0.86,
      ),
      coat,
    );
    strokeLine(context, outline('0.13,-0.76 0.18,-0.57 0.16,-0.41'), 0.07, mix(coat, palette.rim, 0.18));
    fillEllipse(context, { x: -0.155, y: -0.38 }, 0.03, 0.035, skin);
    fillEllipse(context, { x: 0.16, y: -0.39 }, 0.03, 0.035, skin);
    strokeLine(context, outline('0.115,-0.8 0.15,-0.6 0.155,-0.36'), 0.018, mix(coat, palette.rim, 0.6), 0.8);
    fillBox(context, -0.035, -0.9, 0.07, 0.08, skin);
    fillEllipse(context, { x: 0, y: -0.935 }, 0.074, 0.085, skin);
    fillCurve(context, outline('-0.08,-0.9 -0.085,-1 0,-1.03 0.085,-1 0.08,-0.9 0,-0.925'), hair);
    if (hat) {
      fillEllipse(context, { x: 0, y: -0.985 }, 0.15, 0.024, adjust(coat, -0.12));
      fillCurve(context, outline('-0.075,-0.98 -0.07,-1.07 0.07,-1.07 0.075,-0.98'), adjust(coat, -0.1));
    } else
      fillCurve(
        context,
        outline('-0.1,-0.86 0,-0.82 0.1,-0.86 0.09,-0.82 0,-0.78 -0.09,-0.82'),
        mix(coat, hex('#d9b25a'), 0.6),
      );
  });
};

export const drawCouple: DrawThing = (stage, foot, size, look) => {
  drawPerson(stage, { x: foot.x - size * 0.19, y: foot.y }, size, { ...look, random: look.random.fork('one') });
  drawPerson(stage, { x: foot.x + size * 0.17, y: foot.y + size * 0.01 }, size * 0.93, {
    ...look,
    colour: undefined,
    facing: 1,
    random: look.random.fork('other'),
  });
};

export const drawAstronaut: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const suit = lit(palette, look.colour ?? hex('#f2f1ee'), look.depth * 0.6);
  const shade = mix(adjust(suit, -0.17), palette.sky[1], 0.15);
  const orange = lit(palette, hex('#e8742c'), look.depth);
  const side = lightSide(stage, foot.x);
  at(context, foot, size, side, () => {
    fillEllipse(context, { x: -0.14, y: 0 }, 0.36, 0.03, css(palette.land, 0.4));
    fillBox(context, -0.27, -0.74, 0.5, 0.36, shade);
    for (const [x, tone] of [
      [-0.1, shade],
      [0.1, suit],
    ] as const) {
      strokeLine(context, points(x, -0.4, x * 1.15, -0.08), 0.17, tone);
      fillBox(context, x * 1.15 - 0.1, -0.08, 0.2, 0.08, adjust(shade, -0.1));
    }
    strokeLine(context, outline('-0.2,-0.66 -0.3,-0.5 -0.25,-0.36'), 0.12, shade);
    fillCurve(context, outline('-0.22,-0.72 -0.21,-0.36 0,-0.33 0.21,-0.36 0.22,-0.72 0,-0.78'), suit);
    strokeLine(context, outline('0.2,-0.66 0.34,-0.56 0.4,-0.7'), 0.12, suit);
    fillEllipse(context, { x: 0.4, y: -0.74 }, 0.07, 0.07, orange);
    fillEllipse(context, { x: -0.25, y: -0.34 }, 0.07, 0.07, orange);
    fillBox(context, -0.1, -0.6, 0.2, 0.13, shade);
    for (const [x, colour] of [
      [-0.05, '#e8412c'],
      [0.01, '#f5c23a'],
      [0.06, '#3aa86b'],
    ] as const)
      fillEllipse(context, { x, y: -0.54 }, 0.016, 0.016, hex(colour));
    fillEllipse(context, { x: 0, y: -0.86 }, 0.185, 0.18, suit);
    const visor = context.createLinearGradient(-0.1, -0.95, 0.12, -0.78);
    visor.addColorStop(0, css(mix(palette.sky[0], hex('#0c1020'), 0.5)));
    visor.addColorStop(0.6, css(mix(palette.sky[2], hex('#c98a3c'), 0.4)));
    visor.addColorStop(1, css(palette.rim));
    fillEllipse(context, { x: 0.03, y: -0.86 }, 0.135, 0.115, visor);
    fillEllipse(context, { x: 0.085, y: -0.905 }, 0.025, 0.016, css(hex('#ffffff'), 0.85), 0.6);
  });
};

export const drawRobot: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const metal = lit(palette, look.colour ?? hex('#8fa3b0'), look.depth);
  const shade = adjust(metal, -0.14);
  const eye = stage.style === 'neon' ? hex('#3ff3ff') : hex('#ffd84a');
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 0.32, 0.03, css(palette.land, 0.4));
    for (const x of [-0.12, 0.12]) {
      fillBox(context, x - 0.045, -0.32, 0.09, 0.28, shade);
      fillBox(context, x - 0.09, -0.07, 0.18, 0.075, adjust(metal, -0.2));
    }
    for (const sign of [-1, 1]) {
      strokeLine(context, points(sign * 0.24, -0.6, sign * 0.36, -0.48, sign * 0.34, -0.34), 0.07, shade);
      fillEllipse(context, { x: sign * 0.34, y: -0.3 }, 0.055, 0.055, metal);
    }
    fillCurve(context, outline('-0.25,-0.68 -0.26,-0.3 -0.2,-0.27 0.2,-0.27 0.26,-0.3 0.25,-0.68 0,-0.7'), metal);
    fillBox(context, -0.14, -0.6, 0.28, 0.18, adjust(metal, -0.22));
    for (let bar = 0; bar < 4; bar++) fillBox(context, -0.11 + bar * 0.06, -0.47, 0.035, -0.03 - bar * 0.022, eye);
    fillBox(context, -0.05, -0.72, 0.1, 0.06, shade);
    fillCurve(
      context,
      outline('-0.21,-0.96 -0.22,-0.74 0,-0.71 0.22,-0.74 0.21,-0.96 0,-0.99'),
      mix(metal, palette.rim, 0.12),
    );
    fillBox(context, -0.16, -0.91, 0.32, 0.12, hex('#1c2330'));
    for (const x of [-0.075, 0.075]) {
      glow(context, { x, y: -0.85 }, 0.14, eye, 0.7);
      fillEllipse(context, { x, y: -0.85 }, 0.036, 0.036, eye);
    }
    strokeLine(context, outline('0,-0.98 0,-1.08'), 0.016, shade);
    fillEllipse(context, { x: 0, y: -1.09 }, 0.03, 0.03, hex('#e8412c'));
  });
};

export const drawSnowman: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const snow = mix(palette.snow, hex('#ffffff'), 0.35);
  const shade = mix(adjust(snow, -0.12), palette.sky[1], 0.3);
  const side = lightSide(stage, foot.x);
  const scarf = lit(palette, look.colour ?? hex('#c9382f'), look.depth);
  at(context, foot, size, side, () => {
    fillEllipse(context, { x: -0.14, y: 0 }, 0.4, 0.04, css(mix(palette.sky[0], palette.land, 0.4), 0.35));
    for (const [y, radius] of [
      [-0.22, 0.27],
      [-0.57, 0.2],
      [-0.83, 0.145],
    ] as const) {
      fillEllipse(context, { x: 0, y }, radius, radius * 0.96, shade);
      fillEllipse(context, { x: radius * 0.12, y: y - radius * 0.08 }, radius * 0.86, radius * 0.85, snow);
    }
    const twig = lit(palette, hex('#5a3d2b'), look.depth);
    strokeLine(context, outline('-0.17,-0.6 -0.36,-0.7 -0.46,-0.82'), 0.022, twig);
    strokeLine(context, outline('0.17,-0.6 0.38,-0.66 0.48,-0.6'), 0.022, twig);
    fillCurve(context, outline('-0.15,-0.74 0,-0.69 0.15,-0.74 0.15,-0.68 0,-0.63 -0.15,-0.68'), scarf);
    fillShape(context, outline('0.05,-0.67 0.13,-0.68 0.15,-0.46 0.07,-0.46'), adjust(scarf, -0.06));
    for (const x of [-0.045, 0.06]) fillEllipse(context, { x, y: -0.87 }, 0.017, 0.02, hex('#1f1d22'));
    for (const y of [-0.6, -0.52]) fillEllipse(context, { x: 0.02, y }, 0.018, 0.018, hex('#1f1d22'));
    fillShape(context, outline('0,-0.84 0.17,-0.8 0,-0.8'), hex('#ee7a2c'));
    fillBox(context, -0.19, -0.97, 0.38, 0.035, hex('#25242c'));
    fillBox(context, -0.12, -1.13, 0.24, 0.17, hex('#25242c'));
    fillBox(context, -0.12, -1.01, 0.24, 0.04, scarf);
  });
};
