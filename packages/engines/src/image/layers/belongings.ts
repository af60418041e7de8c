/**
 * Belongings: leaning and standing guitars, shoes, perfume bottles. Each stands on its foot; its size is its height.
 * Light comes from the left.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';
import { drawContact, rounded } from './volumes.ts';

export const drawGuitar: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const wood = lit(palette, look.colour ?? hex('#c47f3c'), look.depth);
  const dark = lit(palette, hex('#3a2418'), look.depth);
  at(context, foot, size, 1, () => {
    drawContact(context, { x: 0.02, y: 0 }, 0.2);
    context.save();
    context.rotate(0.1);
    fillBox(context, -0.022, -0.92, 0.044, 0.56, rounded(context, -0.022, 0.022, dark));
    fillCurve(context, outline('-0.035,-0.9 -0.045,-1.02 0.045,-1.02 0.035,-0.9'), dark);
    const body =
      '0,-0.47 -0.1,-0.46 -0.14,-0.38 -0.12,-0.29 -0.19,-0.2 -0.2,-0.08 -0.12,0 0.12,0 0.2,-0.08 0.19,-0.2 0.12,-0.29 0.14,-0.38 0.1,-0.46';
    fillCurve(context, outline(body), adjust(wood, -0.2));
    context.translate(-0.008, -0.008);
    context.scale(0.94, 0.96);
    fillCurve(context, outline(body), rounded(context, -0.2, 0.2, wood));
    fillEllipse(context, { x: 0, y: -0.29 }, 0.058, 0.058, adjust(wood, -0.14));
    fillEllipse(context, { x: 0, y: -0.29 }, 0.046, 0.046, hex('#1b100b'));
    fillBox(context, -0.07, -0.12, 0.14, 0.022, dark);
    fillCurve(context, outline('0.05,-0.27 0.11,-0.22 0.09,-0.13 0.04,-0.18'), css(dark, 0.7));
    for (const x of [-0.014, -0.008, -0.002, 0.004, 0.01, 0.016])
      strokeLine(context, points(x, -0.96, x * 1.7, -0.11), 0.003, hex('#efe8d8'), 0.85);
    for (let fret = 0; fret < 9; fret++) fillBox(context, -0.023, -0.88 + fret * 0.052, 0.046, 0.004, hex('#cfc6b2'));
    for (const y of [-0.94, -0.98, -1.02])
      for (const side of [-1, 1]) fillEllipse(context, { x: side * 0.052, y }, 0.013, 0.009, hex('#e8e2d2'));
    context.restore();
  });
};

export const drawShoe: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const cloth = lit(
    palette,
    look.colour ?? look.random.pick([hex('#d0402f'), hex('#2f6fb0'), hex('#2f9c7a')]),
    look.depth,
  );
  const sole = lit(palette, hex('#f4f1ea'), look.depth);
  at(context, foot, size, look.facing, () => {
    drawContact(context, { x: 0, y: 0 }, 1.05);
    fillCurve(
      context,
      outline('-1,-0.24 -1.02,-0.04 -0.8,0 0.9,0 1.14,-0.06 1.12,-0.22 0.6,-0.2'),
      rounded(context, -1.1, 1.2, sole),
    );
    strokeLine(context, outline('-0.98,-0.12 0.2,-0.1 1.1,-0.14'), 0.025, cloth, 0.8);
    fillCurve(
      context,
      outline(
        '-0.96,-0.92 -1.02,-0.5 -0.98,-0.2 0.2,-0.18 1.06,-0.2 1.04,-0.4 0.7,-0.5 0.34,-0.62 0.02,-0.86 -0.16,-0.98 -0.34,-0.8 -0.7,-0.84',
      ),
      rounded(context, -1.1, 1.2, cloth),
    );
    fillCurve(context, outline('0.62,-0.2 0.6,-0.46 0.84,-0.5 1.08,-0.36 1.08,-0.2'), css(sole, 0.9));
    fillCurve(context, outline('-0.92,-0.88 -0.34,-0.78 -0.18,-0.94 -0.3,-0.7 -0.8,-0.72'), adjust(cloth, -0.22));
    fillCurve(context, outline('-0.6,-0.5 -0.1,-0.28 0.4,-0.34 -0.08,-0.4'), mix(sole, cloth, 0.1));
    for (let lace = 0; lace < 4; lace++) {
      const x = -0.08 + lace * 0.15;
      strokeLine(context, points(x - 0.06, -0.84 + lace * 0.09, x + 0.14, -0.66 + lace * 0.07), 0.035, sole);
    }
  });
};

export const drawFlask: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const scent = lit(
    palette,
    look.colour ?? look.random.pick([hex('#e8a86a'), hex('#d98aa5'), hex('#8fb6c9')]),
    look.depth,
  );
  at(context, foot, size, 1, () => {
    drawContact(context, { x: 0, y: 0 }, 0.38);
    context.beginPath();
    context.roundRect(-0.36, -0.64, 0.72, 0.64, 0.09);
    context.fillStyle = rounded(context, -0.36, 0.36, mix(scent, hex('#ffffff'), 0.45));
    context.fill();
    context.beginPath();
    context.roundRect(-0.29, -0.5, 0.58, 0.44, 0.06);
    context.fillStyle = rounded(context, -0.29, 0.29, scent);
    context.fill();
    fillBox(context, -0.2, -0.4, 0.4, 0.22, css(hex('#fbf7ef'), 0.9));
    fillBox(context, -0.14, -0.33, 0.28, 0.018, css(hex('#4a3a34'), 0.8));
    fillBox(context, -0.09, -0.28, 0.18, 0.012, css(hex('#4a3a34'), 0.6));
    fillBox(context, -0.1, -0.72, 0.2, 0.09, rounded(context, -0.1, 0.1, hex('#d9b45a')));
    context.beginPath();
    context.roundRect(-0.15, -1, 0.3, 0.29, 0.04);
    context.fillStyle = rounded(context, -0.15, 0.15, hex('#2b2830'));
    context.fill();
    fillBox(context, -0.31, -0.58, 0.05, 0.5, css(hex('#ffffff'), 0.5));
  });
};
