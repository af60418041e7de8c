/**
 * Objects in the sky that shine or reflect light: sun, moon, planets, rainbow, comets, fireworks.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { fillEllipse, glow, strokeLine } from '../draw.ts';
import type { Point, Stage } from '../stage.ts';

/** The sun or the moon of the scene, with its glow. */
export function drawLightSource(stage: Stage, colour: Colour | undefined): void {
  const { context, light, palette, horizon } = stage;
  const body = colour ?? palette.sun;
  const isLow = light.y > horizon * 0.55;
  context.save();
  if (!stage.isFlat) {
    context.globalCompositeOperation = 'screen';
    const strength = light.body === 'sun' ? (isLow ? 0.75 : 0.5) : 0.4;
    glow(
      context,
      light,
      light.radius * 11,
      mix(body, palette.sky[3], 0.55),
      strength * (light.isVisible ? 0.62 : 0.35),
    );
    if (light.isVisible) glow(context, light, light.radius * 4, body, strength * 0.8);
  }
  context.restore();
  if (!light.isVisible) return;
  if (light.body === 'sun') drawSun(stage, body);
  else drawMoon(stage, colour ?? hex('#f4f0de'));
}

function drawSun(stage: Stage, body: Colour): void {
  const { context, light } = stage;
  if (stage.style !== 'neon') {
    fillEllipse(context, light, light.radius, light.radius, stage.isFlat ? adjust(body, -0.03, 1.3) : body);
    return;
  }
  // A sun in the style of the 1980s: from yellow to pink, cut by bars that widen downwards.
  const radius = light.radius * 2.1;
  const gradient = context.createLinearGradient(0, light.y - radius, 0, light.y + radius);
  gradient.addColorStop(0, css(hex('#ffe45c')));
  gradient.addColorStop(0.5, css(hex('#ff7a5c')));
  gradient.addColorStop(1, css(hex('#ff2f9a')));
  context.save();
  context.beginPath();
  for (let bar = 0; bar < 8; bar++) {
    const top = light.y - radius + (bar * radius) / 4;
    const gap = bar < 3 ? 0 : (bar - 2) * radius * 0.018;
    context.rect(light.x - radius, top, radius * 2, radius / 4 - gap);
  }
  context.clip();
  fillEllipse(context, light, radius, radius, gradient);
  context.restore();
}

function drawMoon(stage: Stage, body: Colour): void {
  const { context, light } = stage;
  const radius = light.radius * 0.86;
  if (light.body === 'crescent') {
    context.beginPath();
    context.arc(light.x, light.y, radius, Math.PI * 0.32, Math.PI * 1.68, false);
    context.arc(light.x + radius * 0.47, light.y, radius * 0.83, Math.PI * 1.54, Math.PI * 0.46, true);
    context.closePath();
    context.fillStyle = css(body);
    context.fill();
    return;
  }
  fillEllipse(context, light, radius, radius, body);
  if (stage.isFlat) return;
  const random = stage.random.fork('moon');
  context.save();
  context.beginPath();
  context.arc(light.x, light.y, radius, 0, Math.PI * 2);
  context.clip();
  for (let index = 0; index < 9; index++) {
    const [angle, far] = [random.between(0, Math.PI * 2), radius * Math.sqrt(random.next()) * 0.85];
    const position = { x: light.x + Math.cos(angle) * far, y: light.y + Math.sin(angle) * far };
    const size = radius * random.between(0.07, 0.3);
    fillEllipse(context, position, size, size * 0.9, css(adjust(body, -0.1), 0.4));
  }
  context.restore();
}

/** A ringed planet, lit from the side of the light. */
export function drawPlanet(stage: Stage, centre: Point, radius: number, colour: Colour): void {
  const { context } = stage;
  const random = stage.random.fork(`planet ${Math.round(centre.x)}`);
  const tilt = random.between(-0.5, -0.15);
  const hasRing = radius > 40;
  const ring = (from: number, to: number): void => {
    for (const [spread, alpha] of [
      [2.05, 0.55],
      [1.8, 0.8],
      [1.6, 0.4],
    ] as const) {
      context.beginPath();
      context.ellipse(centre.x, centre.y, radius * spread, radius * spread * 0.26, tilt, from, to);
      context.lineWidth = radius * 0.12;
      context.lineCap = 'butt';
      context.strokeStyle = css(adjust(colour, 0.18, 0.6), alpha);
      context.stroke();
    }
  };
  if (hasRing) ring(Math.PI, Math.PI * 2);
  context.save();
  context.beginPath();
  context.arc(centre.x, centre.y, radius, 0, Math.PI * 2);
  context.clip();
  fillEllipse(context, centre, radius, radius, colour);
  for (let band = 0; band < 7; band++) {
    const y = centre.y + radius * random.between(-0.9, 0.9);
    const shade = adjust(colour, random.between(-0.09, 0.09));
    fillEllipse(context, { x: centre.x, y }, radius * 1.2, radius * random.between(0.04, 0.14), css(shade, 0.7), tilt);
  }
  const shadow = context.createRadialGradient(
    centre.x + Math.sign(stage.light.x - centre.x) * radius * 0.5,
    centre.y - radius * 0.5,
    radius * 0.2,
    centre.x,
    centre.y,
    radius * 1.25,
  );
  shadow.addColorStop(0, css(hex('#ffffff'), 0.16));
  shadow.addColorStop(0.45, css(stage.palette.sky[0], 0));
  shadow.addColorStop(1, css(adjust(stage.palette.sky[0], -0.05), 0.92));
  context.fillStyle = shadow;
  context.fillRect(centre.x - radius, centre.y - radius, radius * 2, radius * 2);
  context.restore();
  if (hasRing) ring(0, Math.PI);
}

/** A bow opposite the light. */
export function drawRainbow(stage: Stage): void {
  const { context, width, horizon, light } = stage;
  const centre = { x: width - light.x * 0.8 - width * 0.1, y: horizon + horizon * 0.12 };
  const radius = Math.min(width * 0.46, horizon * 0.82);
  const hues = ['#8a5bd6', '#4a7df0', '#3fbf8f', '#b8d94a', '#f6d04a', '#f59a3c', '#ea5a4a'];
  context.save();
  context.globalCompositeOperation = 'screen';
  for (const [index, hue] of hues.entries()) {
    context.beginPath();
    context.arc(centre.x, centre.y, radius + index * radius * 0.018, Math.PI, Math.PI * 2);
    context.lineWidth = radius * 0.024;
    context.strokeStyle = css(hex(hue), 0.42);
    context.stroke();
  }
  context.restore();
}

/** Shooting stars: bright heads with tails that thin out. */
export function drawComets(stage: Stage, count: number): void {
  const { context, width, horizon } = stage;
  const random = stage.random.fork('comets');
  for (let index = 0; index < count; index++) {
    const head = { x: width * random.between(0.2, 0.85), y: horizon * random.between(0.12, 0.5) };
    const length = random.between(130, 260);
    const tail = { x: head.x + length * 0.86, y: head.y - length * 0.5 };
    for (let part = 14; part > 0; part--) {
      const share = part / 14;
      const end = { x: head.x + (tail.x - head.x) * share, y: head.y + (tail.y - head.y) * share };
      strokeLine(context, [head, end], 3.4 * (1 - share) + 0.4, hex('#f5f8ff'), 0.16);
    }
    glow(context, head, 26, hex('#ffffff'), 0.9);
  }
}

/** Bursts of light in the sky. */
export function drawFireworks(stage: Stage, count: number): void {
  const { context, width, horizon } = stage;
  const random = stage.random.fork('fireworks');
  const hues = [hex('#ffd45c'), hex('#ff6f91'), hex('#6fe3ff'), hex('#b58bff'), hex('#8dff9e')] as const;
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let index = 0; index < count + 2; index++) {
    const centre = { x: width * random.between(0.15, 0.85), y: horizon * random.between(0.15, 0.55) };
    const radius = random.between(60, 130);
    const hue = random.pick(hues);
    glow(context, centre, radius * 1.5, hue, 0.3);
    for (let ray = 0; ray < 46; ray++) {
      const angle = (ray / 46) * Math.PI * 2 + random.between(-0.05, 0.05);
      const far = radius * random.between(0.65, 1.05);
      const end = { x: centre.x + Math.cos(angle) * far, y: centre.y + Math.sin(angle) * far + far * far * 0.0011 };
      const start = { x: centre.x + Math.cos(angle) * far * 0.35, y: centre.y + Math.sin(angle) * far * 0.35 };
      strokeLine(context, [start, end], 1.3, hue, 0.75);
      fillEllipse(context, end, 2, 2, css(mix(hue, hex('#ffffff'), 0.6)));
    }
  }
  context.restore();
}
