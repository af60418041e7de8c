/**
 * Paints a composed scene from far to near: sky, what stands on the horizon, water or land, things, weather, light.
 */
import type { Composition } from './composition.ts';
import { adjust, hex, mix } from './colour.ts';
import type { Colour } from './colour.ts';
import { drawComets, drawFireworks, drawLightSource, drawPlanet, drawRainbow } from './layers/celestial.ts';
import { drawClouds } from './layers/clouds.ts';
import { drawEdgeGrass, drawFlowerBed, drawTufts } from './layers/flora.ts';
import { drawSurface, drawWay, groundColour, makeBank, makeHeadland, makeSurface } from './layers/ground.ts';
import { drawDunes, drawHills, drawMesas, drawMountains, drawVolcano } from './layers/ridges.ts';
import { drawAurora, drawGalaxy, drawNebula, drawSky, drawStars } from './layers/sky.ts';
import { drawSkyline } from './layers/skyline.ts';
import { drawBelt, drawBroadleaf, drawCactus, drawConifer, drawFramingTrunks, drawPalm } from './layers/trees.ts';
import { drawUndersea } from './layers/undersea.ts';
import { drawWater, drawWaterfall } from './layers/water.ts';
import { drawFog, drawLeaves, drawLightning, drawLightOver, drawRain, drawSnowfall } from './layers/weather.ts';
import type { Thing } from './lexicon.ts';
import { drawAll, placeInArea, placeOnGround, Room, subjectsOf } from './placing.ts';
import type { Placed, PlacingGround } from './placing.ts';
import type { Stage, Surface } from './stage.ts';
import { SUBJECTS } from './subjects.ts';

type TreeKind = 'pine' | 'tree' | 'blossom' | 'palm' | 'cactus';

const TREE_HEIGHTS: Record<TreeKind, number> = { pine: 270, tree: 300, blossom: 290, palm: 330, cactus: 190 };

function treeColour(stage: Stage, kind: TreeKind, colour: Colour | undefined): Colour {
  const { palette } = stage;
  if (colour !== undefined) return mix(colour, palette.land, palette.isDark ? 0.6 : 0.12);
  if (kind === 'blossom') return mix(hex('#f2a3bd'), palette.land, palette.isDark ? 0.45 : 0.04);
  if (kind === 'pine' && stage.season === 'autumn') return mix(hex('#3a5c48'), palette.land, palette.isDark ? 0.75 : 0.25);
  return mix(palette.foliage, palette.land, 0.18);
}

function drawTree(stage: Stage, kind: TreeKind, place: { x: number; y: number }, size: number, look: { colour: Colour; depth: number; random: Stage['random'] }): void {
  if (kind === 'pine') drawConifer(stage, place, size, look);
  else if (kind === 'palm') drawPalm(stage, place, size, look);
  else if (kind === 'cactus') drawCactus(stage, place, size, look);
  else drawBroadleaf(stage, place, size, look, kind === 'blossom');
}

/** Everything above the horizon that is not land. */
function paintSky(stage: Stage, composition: Composition): void {
  const { mentions, weather } = composition;
  drawSky(stage);
  const isStarry = composition.time === 'night' || mentions.has('star') || composition.setting === 'space';
  const isCovered = weather.has('rain') || weather.has('storm') || weather.has('cloudy') || weather.has('fog');
  if (composition.setting === 'space') drawNebula(stage);
  if ((isStarry || composition.time === 'dusk') && !isCovered) drawStars(stage, composition.setting === 'space' ? 1.8 : isStarry ? 1 : 0.25);
  if (mentions.has('galaxy') && composition.setting !== 'space') drawGalaxy(stage);
  if (mentions.has('aurora')) drawAurora(stage);
  const body = mentions.get('sun') ?? mentions.get('moon') ?? mentions.get('crescent');
  if (composition.setting !== 'space') drawLightSource(stage, body?.colour);
  const planet = mentions.get('planet');
  if (planet !== undefined || composition.setting === 'space') {
    const random = stage.random.fork('planets');
    const hues = [hex('#d98a5c'), hex('#6f9fd8'), hex('#c9a2d8'), hex('#8fc3b0')] as const;
    drawPlanet(stage, { x: stage.width * random.pick([0.3, 0.7]), y: stage.horizon * random.between(0.28, 0.42) }, random.between(95, 150) * (planet?.scale ?? 1), planet?.colour ?? random.pick(hues));
    drawPlanet(stage, { x: stage.width * random.between(0.1, 0.9), y: stage.horizon * random.between(0.6, 0.8) }, random.between(16, 30), random.pick(hues));
  }
  if (mentions.has('comet')) drawComets(stage, mentions.get('comet')?.count ?? 1);
  if (mentions.has('rainbow')) drawRainbow(stage);
  if (composition.setting !== 'space') drawClouds(stage, mentions.get('cloud')?.count ?? 0, mentions.get('cloud')?.colour);
  if (weather.has('storm')) drawLightning(stage);
  if (mentions.has('firework')) drawFireworks(stage, mentions.get('firework')?.count ?? 1);
}

/** Land on the horizon. */
function paintBackdrop(stage: Stage, composition: Composition): void {
  const { mentions } = composition;
  const { palette, horizon } = stage;
  const has = (thing: Thing): boolean => mentions.has(thing);
  if (has('mountain') || has('waterfall')) drawMountains(stage, mentions.get('mountain')?.colour, mentions.get('mountain')?.scale ?? 1);
  if (has('volcano')) drawVolcano(stage, mentions.get('volcano')?.scale ?? 1);
  if (has('canyon')) drawMesas(stage);
  if (has('hill') || has('village')) drawHills(stage, mentions.get('hill')?.colour ?? palette.grass, 3);
  else if (composition.setting === 'land' && composition.ground === 'meadow' && !has('mountain') && !has('city') && !has('volcano')) drawHills(stage, palette.grass, 2);
  if (has('city')) drawSkyline(stage, mentions.get('city')?.colour, mentions.get('city')?.scale ?? 1);
  const forest = mentions.get('forest');
  const isPine = has('pine') || stage.season === 'winter' || (forest !== undefined && stage.random.fork('kind').chance(0.5) && stage.season !== 'autumn');
  const kind = isPine ? 'conifer' : 'broadleaf';
  const leaf = treeColour(stage, isPine ? 'pine' : 'tree', forest?.colour);
  if (forest !== undefined) {
    for (const [index, belt] of [{ size: 120, depth: 0.82 }, { size: 165, depth: 0.58 }, { size: 215, depth: 0.34 }].entries()) {
      drawBelt(stage, { yAt: () => horizon + index * 7, size: belt.size, depth: belt.depth, kind, colour: leaf, name: `forest ${index}`, density: 0 });
    }
  } else if (composition.setting !== 'space' && !has('city') && !has('desert') && !has('canyon') && composition.water === 'lake' && (has('mountain') || has('lake') || has('pine'))) {
    drawBelt(stage, { yAt: () => horizon + 2, size: 42, depth: 0.45, kind, colour: leaf, name: 'shore', density: 0.35 });
  }
  const random = stage.random.fork('village');
  const village = mentions.get('village');
  const house = SUBJECTS.house;
  if (village === undefined || house === undefined) return;
  for (let index = 0; index < 11; index++) {
    const x = stage.width * (0.2 + 0.6 * random.next());
    house.draw(stage, { x, y: horizon + 2 + random.between(0, 14) }, random.between(30, 46), { colour: undefined, depth: 0.4, facing: 1, random: random.fork(`house ${index}`) });
  }
  SUBJECTS.church?.draw(stage, { x: stage.width * 0.5, y: horizon + 4 }, 96, { colour: undefined, depth: 0.42, facing: 1, random });
}

/** Grounds to stand on, from far to near, each drawn when its turn comes. */
function makeGrounds(stage: Stage, composition: Composition, needsMiddle: boolean, needsNear: boolean): { middle: Surface | undefined; near: Surface | undefined } {
  const { height, horizon } = stage;
  const random = stage.random.fork('grounds');
  const side = random.chance(0.5) ? 1 : -1;
  if (composition.setting === 'water') {
    const isWanted = needsNear || composition.water === 'lake' || composition.mentions.has('beach') || random.chance(0.3);
    const away = side === 1 ? -1 : 1;
    return {
      middle: needsMiddle ? makeHeadland(stage, side, 1) : undefined,
      near: isWanted ? makeBank(stage, needsMiddle ? away : side, height * (composition.mentions.has('beach') ? 0.87 : 0.9)) : undefined,
    };
  }
  const drop = height - horizon;
  return {
    middle: makeSurface(stage, 'middle', { y: horizon + drop * 0.2, swing: 26, depth: 0.3, scale: 0.6 }),
    near: makeSurface(stage, 'near', { y: horizon + drop * 0.56, swing: 40, depth: 0, scale: 1 }),
  };
}

function paintTrees(stage: Stage, composition: Composition, ground: PlacingGround): void {
  const { surface, room } = ground;
  for (const kind of ['pine', 'tree', 'blossom', 'palm', 'cactus'] as const) {
    const mention = composition.mentions.get(kind);
    if (mention === undefined) continue;
    const random = stage.random.fork(`${kind} ${surface.depth}`);
    const isLone = mention.count === 1 && kind !== 'pine' && kind !== 'cactus';
    if (isLone && surface.depth > 0.1 && composition.setting === 'land') continue;
    const count = isLone ? 1 : Math.round((surface.depth > 0.1 ? 7 : 4) + mention.count * 0.7);
    for (let index = 0; index < count; index++) {
      const edge = random.chance(0.5) ? random.between(0, 0.3) : random.between(0.7, 1);
      const x = surface.left + (surface.right - surface.left) * (isLone ? random.pick([0.28, 0.72]) : surface.depth > 0.1 ? random.next() : edge);
      const size = TREE_HEIGHTS[kind] * surface.scale * mention.scale * (isLone ? 1.25 : random.between(0.55, 1.1));
      if (!room.isFree(x, size * 0.06)) continue;
      const place = { x, y: surface.yAt(x) + random.between(4, 16) };
      drawTree(stage, kind, place, size, { colour: treeColour(stage, kind, mention.colour), depth: surface.depth * 0.8, random });
    }
  }
}

function paintGround(stage: Stage, composition: Composition, ground: PlacingGround, things: readonly Placed[]): void {
  const { surface } = ground;
  const kind = composition.ground;
  drawSurface(stage, surface, kind);
  const flower = composition.mentions.get('flower');
  if (flower !== undefined && surface.depth > 0.1) drawFlowerBed(stage, surface, flower.colour, 0.8);
  paintTrees(stage, composition, ground);
  drawAll(things, stage);
  if (surface.depth > 0.1 || stage.isFlat) return;
  if (kind === 'meadow' || kind === 'forest') {
    for (const thing of things) if (thing.subject.place === 'near') drawTufts(stage, thing.place, thing.size * 0.3, adjust(groundColour(stage, kind), -0.03));
  }
  if (flower !== undefined) drawFlowerBed(stage, surface, flower.colour, 1.2);
}

/** Paints the whole scene. */
export function paintScene(stage: Stage, composition: Composition): void {
  const { mentions, setting } = composition;
  const { width, height, horizon, palette } = stage;
  const random = stage.random.fork('placing');
  const entries = subjectsOf(mentions.values());
  const air = new Room();
  if (setting === 'undersea') {
    drawUndersea(stage);
    const swimmers = entries.flatMap((entry) => placeInArea(entry, { left: 40, right: width - 40, top: height * 0.2, bottom: height * 0.72 }, air, { random, isWater: false }));
    drawAll(swimmers.length > 0 ? swimmers : [], stage);
    drawLightOver(stage);
    return;
  }
  paintSky(stage, composition);
  paintBackdrop(stage, composition);
  const isOnWater = (place: string): boolean => place === 'water' && setting === 'water';
  const middles = entries.filter(({ subject }) => subject.place === 'middle');
  const nears = entries.filter(({ subject }) => subject.place === 'near' || (subject.place === 'water' && setting !== 'water'));
  const hasTrees = (['pine', 'tree', 'blossom', 'palm', 'cactus'] as const).some((kind) => mentions.has(kind));
  const grounds = makeGrounds(stage, composition, middles.length > 0 || mentions.has('island'), nears.length > 0 || hasTrees);
  const aloft = entries.filter(({ subject }) => subject.place === 'air').flatMap((entry) => placeInArea(entry, { left: 30, right: width - 30, top: horizon * 0.22, bottom: horizon * 0.74 }, air, { random, isWater: false }));
  drawAll(aloft.filter(({ thing }) => thing !== 'butterfly'), stage);
  if (composition.ground === 'sand' && setting === 'land') drawDunes(stage, height);
  // What stands on a headland is drawn first, so that the water mirrors it.
  const middle = grounds.middle === undefined ? undefined : { surface: grounds.middle, room: new Room() };
  const near = grounds.near === undefined ? undefined : { surface: grounds.near, room: new Room() };
  if (setting === 'land' && composition.ground !== 'sand') {
    drawSurface(stage, makeSurface(stage, 'far', { y: horizon + 3, swing: 5, depth: 0.62, scale: 0.4 }), composition.ground);
  }
  if (middle !== undefined && setting !== 'space') {
    const things = middles.flatMap((entry) => placeOnGround(entry, middle, horizon * 1.5, random));
    paintGround(stage, composition, middle, things);
  }
  if (setting === 'water') drawWater(stage, composition.water, height);
  if (mentions.has('waterfall')) drawWaterfall(stage, { x: width * 0.52, y: horizon * 0.62 }, horizon + 16, 46);
  const bridges = entries.filter(({ subject }) => subject.place === 'across');
  for (const { mention, subject } of bridges) {
    const y = setting === 'water' ? horizon + (height - horizon) * 0.3 : (grounds.near?.yAt(width / 2) ?? height * 0.8);
    subject.draw(stage, { x: 0, y }, subject.height * mention.scale, { colour: mention.colour, depth: 0.15, facing: 1, random });
  }
  for (const way of ['river', 'road'] as const) {
    if (mentions.has(way) && setting === 'land') drawWay(stage, way, horizon + 6, width * random.between(0.4, 0.6));
  }
  const floating = new Room();
  const afloat = entries.filter(({ subject }) => isOnWater(subject.place)).flatMap((entry) => placeInArea(entry, { left: width * 0.06, right: width * 0.94, top: horizon + (height - horizon) * 0.1, bottom: horizon + (height - horizon) * (near === undefined ? 0.8 : 0.6) }, floating, { random, isWater: true }));
  drawAll(afloat, stage);
  if (composition.weather.has('fog')) drawFog(stage, 1);
  if (near !== undefined) {
    const standing = setting === 'space' ? [...middles, ...nears] : nears;
    const things = standing.flatMap((entry) => placeOnGround(entry, near, height * 0.75, random));
    if (mentions.has('river') || mentions.has('road')) drawAllOnWay(stage, composition, near, things);
    else paintGround(stage, composition, near, things);
  }
  drawAll(aloft.filter(({ thing }) => thing === 'butterfly'), stage);
  if (mentions.has('forest') && setting === 'land' && !stage.isFlat) drawFramingTrunks(stage, adjust(mix(palette.land, palette.foliage, 0.25), -0.12));
  const isGrown = composition.ground === 'meadow' || composition.ground === 'forest';
  if (!stage.isFlat && isGrown && near !== undefined) drawEdgeGrass(stage, adjust(mix(palette.foliage, palette.land, 0.4), -0.06), setting === 'water' ? 'reeds' : 'grass');
  if (composition.weather.has('rain') || composition.weather.has('storm')) drawRain(stage);
  if (composition.weather.has('snow')) drawSnowfall(stage);
  if (composition.weather.has('wind') || (composition.season === 'autumn' && mentions.has('forest'))) drawLeaves(stage, palette.foliage);
  drawLightOver(stage);
}

/** With a way through the land the near ground is the land itself: things stand beside the way, nothing covers it. */
function drawAllOnWay(stage: Stage, composition: Composition, near: PlacingGround, things: readonly Placed[]): void {
  paintTrees(stage, composition, near);
  drawAll(things, stage);
}
