/**
 * Mountains, volcanoes and hills on the horizon, one range behind the other. Each is paler than the one in front of it,
 * because of the air between.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillBelow, fillShape, glow } from '../draw.ts';
import { createLineNoise, fractal } from '../noise.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { isSnowy } from '../stage.ts';
import type { Point, Stage } from '../stage.ts';

interface Peak {
  readonly x: number;
  readonly height: number;
  readonly halfWidth: number;
}

interface Range {
  readonly peaks: readonly Peak[];
  readonly base: number;
  /** Height of the ridge above the base. */
  heightAt(x: number): number;
}

function makeRange(stage: Stage, random: Random, tallest: number, count: number, base: number): Range {
  const noise = createLineNoise(random);
  const peaks = Array.from({ length: count }, (_, index): Peak => {
    const height = tallest * (index === 0 ? 1 : random.between(0.45, 0.86));
    const slot = (index + random.between(0.1, 0.9)) / count;
    const x = index === 0 ? stage.width * random.pick([0.34, 0.42, 0.62, 0.7]) : stage.width * (slot * 1.16 - 0.08);
    return { x, height, halfWidth: height * random.between(1.05, 1.6) };
  });
  const heightAt = (x: number): number => {
    const tent = Math.max(...peaks.map((peak) => peak.height * (1 - (Math.abs(x - peak.x) / peak.halfWidth) ** 0.92)));
    const rough = fractal(noise, x / (tallest * 0.32), 5, 0.52) * tallest * 0.11;
    return Math.max(tallest * 0.1 + rough * 0.6, tent + rough);
  };
  return { peaks, base, heightAt };
}

/** The sides towards the light, and below each summit the jagged edge between light and shade. */
function drawFaces(stage: Stage, range: Range, random: Random, light: Colour, alpha: number): void {
  const { context } = stage;
  for (const peak of range.peaks) {
    const side = stage.light.x >= peak.x ? 1 : -1;
    const outline: Point[] = [];
    for (let far = 0; far < peak.halfWidth * 0.95; far += 4) {
      const x = peak.x + far * side;
      const height = range.heightAt(x);
      const own = peak.height * (1 - (far / peak.halfWidth) ** 0.92);
      if (height > own + peak.height * 0.16) break;
      outline.push({ x, y: range.base - height });
    }
    const last = outline.at(-1);
    if (last === undefined || outline.length < 5) continue;
    const foot = range.base - peak.height * 0.02;
    outline.push({ x: last.x + side * 12, y: foot });
    const top = range.base - range.heightAt(peak.x);
    const spine: Point[] = [];
    for (let step = 1; step <= 9; step++) {
      const lean = (step / 9) * peak.halfWidth * -0.16 + random.between(-1, 1) * peak.halfWidth * 0.07;
      spine.push({
        x: peak.x + lean * side + (step % 2 === 0 ? 0.05 : -0.04) * peak.halfWidth,
        y: top + ((foot - top) * step) / 9,
      });
    }
    const gradient = context.createLinearGradient(0, top, 0, foot);
    gradient.addColorStop(0, css(light, alpha));
    gradient.addColorStop(0.55, css(light, alpha * 0.55));
    gradient.addColorStop(1, css(light, 0));
    fillShape(context, [...outline, ...spine.toReversed()], stage.isFlat ? css(light, alpha * 0.5) : gradient);
  }
}

/** Snow from the ridge down to a ragged line. */
function drawSnowCaps(stage: Stage, range: Range, random: Random, line: number, depth: number): void {
  const { context, width, palette } = stage;
  const ragged = createLineNoise(random);
  const lower: Point[] = [];
  const upper: Point[] = [];
  for (let x = -4; x <= width + 4; x += 3) {
    const height = range.heightAt(x);
    upper.push({ x, y: range.base - height + 0.5 });
    const over = Math.max(0, height - line);
    const tongues = 0.62 + 0.6 * fractal(ragged, x / 17, 3);
    lower.push({ x, y: range.base - height + Math.max(0, over * tongues) });
  }
  const snow = mix(palette.snow, palette.haze, depth * 0.55);
  context.save();
  fillShape(context, [...upper, ...lower.toReversed()], mix(snow, mix(palette.sky[0], palette.land, 0.3), 0.3));
  context.beginPath();
  for (const { x, y } of [...upper, ...lower.toReversed()]) context.lineTo(x, y);
  context.clip();
  drawFaces(stage, range, random.fork('snow'), mix(snow, palette.rim, 0.25), 1);
  context.restore();
}

/** Three to four ranges of mountains; the second is the tallest and has faces and snow. */
export function drawMountains(stage: Stage, colour: Colour | undefined, size: number): void {
  const { context, width, horizon, palette, isFlat } = stage;
  const random = stage.random.fork('mountains');
  const room = horizon * Math.min(0.86, random.between(0.56, 0.7) * size);
  const rock = colour ?? mix(palette.rock, palette.land, 0.45);
  const plans = [
    { tall: 0.72, count: 5, depth: 0.86, faces: 0.25 },
    { tall: 1, count: 4, depth: 0.56, faces: 0.7 },
    { tall: 0.5, count: 6, depth: 0.34, faces: 0.4 },
  ];
  for (const [index, plan] of plans.entries()) {
    const chance = random.fork(`range ${index}`);
    const range = makeRange(stage, chance, room * plan.tall, plan.count, horizon + 4);
    const near = mix(rock, mix(palette.foliage, palette.land, 0.5), index === 2 ? 0.55 : 0.08);
    const body = mix(near, palette.haze, plan.depth);
    const gradient = context.createLinearGradient(0, horizon - room * plan.tall, 0, horizon);
    gradient.addColorStop(0, css(adjust(body, -0.02)));
    gradient.addColorStop(0.45, css(body));
    gradient.addColorStop(1, css(mix(body, palette.haze, 0.55)));
    fillBelow(
      context,
      (x) => range.base - range.heightAt(x),
      { left: -4, right: width + 4, bottom: horizon + 6, step: 3 },
      isFlat ? body : gradient,
    );
    drawFaces(
      stage,
      range,
      chance.fork('faces'),
      mix(mix(body, palette.rim, 0.5), palette.haze, plan.depth * 0.35),
      plan.faces,
    );
    const snowLine = isSnowy(stage) ? 0.22 : 0.6;
    if (index < 2 && colour === undefined)
      drawSnowCaps(stage, range, chance.fork('caps'), room * plan.tall * snowLine, plan.depth);
    if (!isFlat) drawValleyMist(stage, horizon - room * plan.tall * 0.16, room * plan.tall * 0.3, 0.34);
  }
}

/** A soft band of haze in front of a range. */
export function drawValleyMist(stage: Stage, y: number, spread: number, alpha: number): void {
  const { context, width, palette } = stage;
  const gradient = context.createLinearGradient(0, y - spread, 0, y + spread);
  gradient.addColorStop(0, css(palette.haze, 0));
  gradient.addColorStop(0.5, css(palette.haze, alpha));
  gradient.addColorStop(1, css(palette.haze, 0));
  context.fillStyle = gradient;
  context.fillRect(0, y - spread, width, spread * 2);
}

/** One cone with a glowing mouth and smoke. */
export function drawVolcano(stage: Stage, size: number): void {
  const { context, width, horizon, palette } = stage;
  const random = stage.random.fork('volcano');
  const noise = createLineNoise(random);
  const centre = width * random.between(0.4, 0.62);
  const tall = horizon * 0.55 * Math.min(1.4, size);
  const half = tall * 1.35;
  const mouth = tall * 0.16;
  const heightAt = (x: number): number => {
    const far = Math.abs(x - centre);
    if (far < mouth) return tall * (0.965 + 0.03 * fractal(noise, x / 9, 2));
    return tall * Math.max(0, 1 - (far - mouth) / half) ** 1.75 + fractal(noise, x / 40, 3) * tall * 0.018;
  };
  const top = { x: centre, y: horizon - tall };
  for (let puff = 0; puff < 26; puff++) {
    const share = puff / 26;
    const position = {
      x: centre + share * share * tall * 0.75 + random.between(-14, 14),
      y: top.y - share * tall * 0.6,
    };
    glow(
      context,
      position,
      26 + share * 90,
      mix(palette.land, palette.haze, 0.35 + share * 0.5),
      0.5 * (1 - share * 0.8),
    );
  }
  const body = mix(mix(palette.rock, palette.land, 0.6), palette.haze, 0.32);
  const gradient = context.createLinearGradient(centre - half, 0, centre + half, 0);
  const rim = mix(body, palette.rim, 0.4);
  gradient.addColorStop(0.25, css(stage.light.x < centre ? rim : adjust(body, -0.06)));
  gradient.addColorStop(0.75, css(stage.light.x < centre ? adjust(body, -0.06) : rim));
  fillBelow(
    context,
    (x) => horizon - heightAt(x),
    { left: -4, right: width + 4, bottom: horizon + 6, step: 3 },
    gradient,
  );
  context.save();
  context.globalCompositeOperation = 'screen';
  glow(context, top, tall * 0.6, hex('#ff6a2b'), 0.85);
  for (let stream = 0; stream < 4; stream++) {
    const points: Point[] = [];
    for (let step = 0; step <= 12; step++) {
      const y = top.y + 6 + (step / 12) * tall * random.between(0.5, 0.55);
      const lean = ((stream - 1.5) / 1.5) * (mouth * 0.7 + (step / 12) ** 1.2 * half * 0.36);
      points.push({ x: centre + lean + fractal(noise, step * 0.9 + stream * 31, 2) * 14, y });
    }
    for (const [wide, alpha] of [
      [13, 0.25],
      [6, 0.55],
      [2.4, 1],
    ] as const) {
      context.beginPath();
      for (const { x, y } of points) context.lineTo(x, y);
      context.lineWidth = wide;
      context.lineJoin = 'round';
      context.strokeStyle = css(mix(hex('#ff4a1c'), hex('#ffe08a'), alpha), alpha);
      context.stroke();
    }
  }
  context.restore();
}

/** Rolling hills: smooth, overlapping, the light on their brows. */
export function drawHills(stage: Stage, colour: Colour, count: number): void {
  const { context, width, horizon, palette, isFlat } = stage;
  const random = stage.random.fork('hills');
  for (let index = 0; index < count; index++) {
    const share = index / Math.max(1, count - 1);
    const noise = createLineNoise(random.fork(`hill ${index}`));
    const crest = horizon - (1 - share) * horizon * 0.2 - 18;
    const swing = horizon * 0.11;
    const yAt = (x: number): number => crest + fractal(noise, x / (330 - share * 90), 2, 0.3) * swing;
    const body = mix(colour, palette.haze, 0.82 - share * 0.5);
    const gradient = context.createLinearGradient(0, crest - swing, 0, horizon + 10);
    gradient.addColorStop(0, css(mix(body, palette.rim, 0.22)));
    gradient.addColorStop(0.4, css(body));
    gradient.addColorStop(1, css(mix(body, palette.haze, 0.4)));
    fillBelow(context, yAt, { left: -4, right: width + 4, bottom: horizon + 8 }, isFlat ? body : gradient);
  }
}
