/**
 * Dry land: dunes with a bright and a shaded flank, and table mountains of layered rock.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { fillBelow, fillShape } from '../draw.ts';
import { createLineNoise } from '../noise.ts';
import type { Point, Stage } from '../stage.ts';
import { drawValleyMist } from './ridges.ts';

/** Dunes: crests with a bright and a shaded flank. */
export function drawDunes(stage: Stage, bottom: number): void {
  const { context, width, horizon, height, palette, isFlat } = stage;
  const random = stage.random.fork('dunes');
  const layers = 5;
  for (let index = 0; index < layers; index++) {
    const share = index / (layers - 1);
    const noise = createLineNoise(random.fork(`dune ${index}`));
    const crest = horizon - 26 + share ** 1.3 * (Math.min(bottom, height) - horizon) * 0.82;
    const swing = 22 + share * 46;
    const long = 170 + share * 190;
    const sharp = (x: number): number => {
      const wave = x / long + index * 7.7;
      return (
        crest -
        swing *
          (1 - Math.abs(2 * (wave - Math.floor(wave + 0.5))) ** 0.9) *
          (0.7 + 0.5 * noise(Math.floor(wave + 0.5) * 3.1))
      );
    };
    const body = mix(palette.sand, palette.haze, 0.62 * (1 - share));
    const gradient = context.createLinearGradient(0, crest - swing, 0, crest + swing * 2.4);
    gradient.addColorStop(0, css(mix(body, palette.rim, 0.42)));
    gradient.addColorStop(1, css(adjust(body, -0.05)));
    fillBelow(context, sharp, { left: -4, right: width + 4, bottom: height + 4, step: 3 }, isFlat ? body : gradient);
    const side = stage.light.x > width / 2 ? -1 : 1;
    for (let wave = Math.floor(-1 + index * 7.7); wave < width / long + index * 7.7 + 2; wave++) {
      const top = { x: (wave - index * 7.7) * long, y: 0 };
      const peak = { x: top.x, y: sharp(top.x) };
      const flank: Point[] = [peak];
      for (let far = 0; far <= long * 0.5; far += 5)
        flank.push({ x: top.x + side * far, y: sharp(top.x + side * far) });
      const foot = { x: top.x + side * long * 0.5, y: crest + swing * 1.5 };
      const bend = [0.75, 0.5, 0.25].map((part) => ({
        x: peak.x + (foot.x - peak.x) * part + side * -16 * Math.sin(part * Math.PI),
        y: peak.y + (foot.y - peak.y) * part,
      }));
      fillShape(
        context,
        [...flank, foot, ...bend],
        css(mix(adjust(body, -0.1), mix(palette.sky[0], palette.land, 0.5), 0.28), 0.55),
      );
    }
  }
}

/** Table mountains of layered rock. */
export function drawMesas(stage: Stage): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('mesas');
  const clay = mix(mix(palette.land, hex('#c4623a'), palette.isDark ? 0.3 : 0.75), palette.sand, 0.15);
  for (const depth of [0.7, 0.4]) {
    for (let index = 0; index < 4; index++) {
      const half = random.between(40, 120) * (1.3 - depth);
      const centre = { x: width * ((index + random.next()) / 4), y: horizon + 4 };
      const tall = horizon * random.between(0.22, 0.5) * (1.25 - depth);
      const body = mix(clay, palette.haze, depth);
      const left = [
        { x: centre.x - half * 2, y: centre.y },
        { x: centre.x - half * 1.2, y: centre.y - tall * 0.34 },
        { x: centre.x - half, y: centre.y - tall * 0.38 },
        { x: centre.x - half * 0.92, y: centre.y - tall },
      ];
      const right = left.map(({ x, y }) => ({ x: 2 * centre.x - x, y })).toReversed();
      fillShape(context, [...left, ...right], body);
      const litSide = stage.light.x >= centre.x ? right : left.toReversed();
      const middle = centre.x + (stage.light.x >= centre.x ? 1 : -1) * half * 0.25;
      fillShape(
        context,
        [{ x: middle, y: centre.y - tall }, ...litSide, { x: middle, y: centre.y }],
        css(mix(body, palette.rim, 0.45), 0.6),
      );
      context.save();
      context.beginPath();
      for (const { x, y } of [...left, ...right]) context.lineTo(x, y);
      context.clip();
      for (let band = 0; band < 6; band++) {
        context.fillStyle = css(adjust(body, -0.08), 0.35);
        context.fillRect(
          centre.x - half * 2,
          centre.y - tall * (0.9 - band * 0.13) + random.between(-3, 3),
          half * 4,
          random.between(2, 6),
        );
      }
      context.restore();
    }
    drawValleyMist(stage, horizon - 8, 60, 0.4);
  }
}
