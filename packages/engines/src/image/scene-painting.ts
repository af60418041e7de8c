/**
 * Paints a composed scene from far to near: sky, the horizon, water or land, things, weather, light.
 */
import { adjust, mix } from './colour.ts';
import type { Composition } from './composition.ts';
import { drawCliff, drawSurf, makeCliff } from './layers/cliffs.ts';
import { drawDunes } from './layers/drylands.ts';
import { drawEdgeGrass, drawFlowerBed, drawTufts } from './layers/flora.ts';
import { drawSurface, drawWay, groundColour, makeBank, makeHeadland, makeSurface } from './layers/ground.ts';
import { drawTrack, drawViaduct, levelled, makeDeck, makeRailShore } from './layers/railway.ts';
import { drawCirrus, drawCloseness, drawGroundGrain, drawRays } from './layers/richness.ts';
import { drawSunflowers } from './layers/sunflowers.ts';
import { drawUndersea } from './layers/undersea.ts';
import { drawWater, drawWaterfall } from './layers/water.ts';
import { drawFog, drawLeaves, drawLightOver, drawRain, drawSnowfall } from './layers/weather.ts';
import { drawFramingTrunks } from './layers/woods.ts';
import { drawAll, placeInArea, placeOnGround, Room, subjectsOf } from './placement.ts';
import type { Entry, Placed, PlacingGround } from './placement.ts';
import { paintBackdrop, paintSky } from './scene-backdrop.ts';
import { paintPortrait } from './scene-portrait.ts';
import { paintRoom } from './scene-room.ts';
import { paintStillLife } from './scene-table.ts';
import { paintCopses, paintTrees, TREE_KINDS } from './scene-trees.ts';
import { isSnowy } from './stage.ts';
import type { Stage, Surface } from './stage.ts';

/** The things of a scene, grouped by where they belong. */
export interface Cast {
  readonly middle: readonly Entry[];
  readonly near: readonly Entry[];
  readonly afloat: readonly Entry[];
  readonly across: readonly Entry[];
  readonly aloft: readonly Entry[];
}

export interface Grounds {
  readonly middle: PlacingGround | undefined;
  readonly near: PlacingGround | undefined;
}

/** Whether a train crosses the water on a bridge. */
function hasViaduct({ setting, mentions }: Composition): boolean {
  return setting === 'water' && mentions.has('bridge') && mentions.has('train');
}

export function castOf(composition: Composition): Cast {
  const entries = subjectsOf(composition.mentions.values());
  const isWater = composition.setting === 'water';
  const of = (...zones: string[]): Entry[] => entries.filter(({ subject }) => zones.includes(subject.zone));
  const isSpace = composition.setting === 'space';
  const isViaduct = hasViaduct(composition);
  const middle = of('middle');
  // A viaduct only carries its train.
  const held = middle.filter(({ mention }) => !isSpace && (!isViaduct || mention.thing === 'train'));
  return {
    middle: held,
    near: [...middle.filter((entry) => !held.includes(entry)), ...of('near'), ...(isWater ? [] : of('water'))],
    afloat: isWater ? of('water') : [],
    across: of('across').map((entry) =>
      isViaduct && entry.mention.thing === 'bridge'
        ? { ...entry, subject: { ...entry.subject, draw: drawViaduct } }
        : entry,
    ),
    aloft: of('air'),
  };
}

/** The surface behind the water: a deck or a shore for a train, a cliff, or a low headland. */
function makeFarShore(stage: Stage, composition: Composition, side: 1 | -1): Surface {
  const { mentions } = composition;
  if (hasViaduct(composition)) return makeDeck(stage);
  if (mentions.has('train')) return makeRailShore(stage);
  if (mentions.has('cliff')) return makeCliff(stage, side, 0.27);
  return mentions.has('lighthouse') ? makeCliff(stage, side, 0.14) : makeHeadland(stage, side, 1);
}

/** The grounds that things stand on: a headland and a bank at water, two bands of land elsewhere. */
export function makeGrounds(stage: Stage, composition: Composition, cast: Cast): Grounds {
  const { height, horizon } = stage;
  const { mentions } = composition;
  const random = stage.random.fork('grounds');
  const side = random.chance(0.5) ? 1 : -1;
  if (composition.setting === 'water') {
    const needsHeadland = cast.middle.length > 0 || mentions.has('island') || mentions.has('cliff');
    const hasTrees = TREE_KINDS.some((kind) => mentions.has(kind));
    const isGrown = hasTrees || mentions.has('field') || mentions.has('flower');
    const needsBank = cast.near.length > 0 || isGrown || composition.water === 'lake' || mentions.has('beach');
    const opposite = side === 1 ? -1 : 1;
    const bank = makeBank(stage, needsHeadland ? opposite : side, height * (mentions.has('beach') ? 0.87 : 0.9));
    return {
      middle: needsHeadland ? { surface: makeFarShore(stage, composition, side), room: new Room() } : undefined,
      near: needsBank || random.chance(0.3) ? { surface: bank, room: new Room() } : undefined,
    };
  }
  const drop = height - horizon;
  // The trunks that frame a view into a forest stand at its edges: no thing is placed behind them.
  const inset = mentions.has('forest') ? stage.width * 0.2 : 0;
  const near = makeSurface(stage, 'near', { y: horizon + drop * 0.56, swing: 40, depth: 0, scale: 1 });
  const rolling = makeSurface(stage, 'middle', { y: horizon + drop * 0.2, swing: 26, depth: 0.3, scale: 0.6 });
  const middle = mentions.has('train') ? levelled(rolling, horizon + drop * 0.2) : rolling;
  return {
    middle: composition.setting === 'space' ? undefined : { surface: middle, room: new Room() },
    near: { surface: { ...near, left: inset, right: stage.width - inset }, room: new Room() },
  };
}

/** One ground with everything that grows and stands on it. */
export function paintGround(
  stage: Stage,
  composition: Composition,
  ground: PlacingGround,
  things: readonly Placed[],
): void {
  const { surface } = ground;
  const { mentions, absent, ground: kind } = composition;
  // A deck is drawn by its bridge.
  if (surface.form === 'deck') {
    drawAll(things, stage);
    return;
  }
  const isFar = surface.depth > 0.1;
  const hasWay = composition.setting === 'land' && (mentions.has('river') || mentions.has('road'));
  // A way through the land lies on the existing ground: nothing may cover it.
  if (surface.form === 'cliff') drawCliff(stage, surface, kind);
  else if (isFar || !hasWay) drawSurface(stage, surface, kind);
  if (surface.form === 'track') drawTrack(stage, surface);
  const named = mentions.get('flower');
  // Flowers in the snow only bloom if the prompt itself names them.
  const flower = isSnowy(stage) && named?.word === undefined ? undefined : named;
  const isBlooming =
    kind === 'meadow' && !stage.palette.isDark && (stage.season === 'spring' || stage.season === 'summer');
  const density = flower !== undefined ? 1 : isBlooming && stage.random.fork('blooming').chance(0.55) ? 0.3 : 0;
  const isStrewn = density > 0 && !stage.isFlat && !hasWay && !absent.has('flower');
  const isSunny = mentions.has('sunflower') && !stage.isFlat;
  // No flowers on a wall of rock.
  const isOpen = isFar && surface.form !== 'cliff';
  if (isOpen && isSunny) drawSunflowers(stage, surface);
  if (isOpen && isStrewn) drawFlowerBed(stage, surface, flower?.colour, density * 0.8);
  if (isFar && kind === 'meadow' && composition.setting === 'land' && !absent.has('tree')) paintCopses(stage, ground);
  paintTrees(stage, composition, ground);
  drawAll(things, stage);
  if (isFar || stage.isFlat) return;
  if (kind === 'meadow' || kind === 'forest') {
    const blade = adjust(groundColour(stage, kind), -0.03);
    for (const { subject, position, size } of things) {
      if (subject.zone === 'near') drawTufts(stage, position, size * 0.3, blade);
    }
  }
  if (isStrewn) drawFlowerBed(stage, surface, flower?.colour, density * 1.2);
  if (isSunny) drawSunflowers(stage, surface);
}

function paintUndersea(stage: Stage, composition: Composition): void {
  const { width, height } = stage;
  const random = stage.random.fork('placing');
  const room = new Room();
  const area = { left: 40, right: width - 40, top: height * 0.2, bottom: height * 0.72 };
  drawUndersea(stage);
  const entries = subjectsOf(composition.mentions.values());
  drawAll(
    entries.flatMap((entry) => placeInArea(entry, area, room, { random, isWater: false })),
    stage,
  );
  drawLightOver(stage);
}

/** The land or the water between the horizon and the nearest ground, with everything that stands and floats there. */
function paintMiddle(stage: Stage, composition: Composition, cast: Cast, grounds: Grounds): void {
  const { mentions, setting } = composition;
  const { width, height, horizon } = stage;
  const random = stage.random.fork('placing');
  const isDune = composition.ground === 'sand' && setting === 'land';
  if (isDune) drawDunes(stage, height);
  else if (setting === 'land') {
    drawSurface(
      stage,
      makeSurface(stage, 'far', { y: horizon + 3, swing: 5, depth: 0.62, scale: 0.4 }),
      composition.ground,
    );
  }
  // Things on a headland are drawn before the water, so that the water mirrors them.
  const { middle } = grounds;
  const paintFarShore = (): void => {
    if (middle === undefined) return;
    const things = cast.middle.flatMap((entry) => placeOnGround(entry, middle, horizon * 1.5, random));
    paintGround(stage, composition, middle, things);
  };
  // A bridge stands too far from the shore for its train to be mirrored.
  const isOnDeck = middle?.surface.form === 'deck';
  if (!isOnDeck) paintFarShore();
  if (setting === 'water') drawWater(stage, composition.water, height);
  if (isOnDeck) paintFarShore();
  if (middle?.surface.form === 'cliff') drawSurf(stage, middle.surface);
  if (mentions.has('waterfall')) drawWaterfall(stage, { x: width * 0.52, y: horizon * 0.62 }, horizon + 16, 46);
  if (setting === 'land' && grounds.near !== undefined && (mentions.has('river') || mentions.has('road'))) {
    drawSurface(stage, grounds.near.surface, composition.ground);
    if (mentions.has('river')) drawWay(stage, 'river', horizon + 6, width * random.between(0.4, 0.6));
    if (mentions.has('road')) drawWay(stage, 'road', horizon + 6, width * random.between(0.4, 0.6));
  }
  for (const { mention, subject } of cast.across) {
    const drop = height - horizon;
    const y = setting === 'water' ? horizon + drop * 0.3 : (grounds.near?.surface.yAt(width / 2) ?? height * 0.8);
    const look = { colour: mention.colour, depth: 0.15, facing: 1, random } as const;
    subject.draw(stage, { x: 0, y }, subject.height * mention.scale, look);
  }
  const room = new Room();
  const bottom = horizon + (height - horizon) * (grounds.near === undefined ? 0.8 : 0.6);
  const area = { left: width * 0.06, right: width * 0.94, top: horizon + (height - horizon) * 0.1, bottom };
  drawAll(
    cast.afloat.flatMap((entry) => placeInArea(entry, area, room, { random, isWater: true })),
    stage,
  );
}

/** Everything that hangs in the foreground: the frame of a forest, grass, weather, light. */
function paintForeground(stage: Stage, composition: Composition, hasNear: boolean): void {
  const { mentions, weather, absent, ground, setting } = composition;
  const { palette } = stage;
  if (mentions.has('forest') && setting === 'land' && !stage.isFlat) {
    drawFramingTrunks(stage, adjust(mix(palette.land, palette.foliage, 0.25), -0.12));
  }
  if (hasNear && !stage.isFlat && !absent.has('field') && (ground === 'meadow' || ground === 'forest')) {
    const blade = adjust(mix(palette.foliage, palette.land, 0.4), -0.06);
    drawEdgeGrass(stage, blade, setting === 'water' ? 'reeds' : 'grass');
  }
  if (weather.has('rain') || weather.has('storm')) drawRain(stage);
  if (weather.has('snow')) drawSnowfall(stage);
  const isFalling = stage.season === 'autumn' && (mentions.has('forest') || mentions.has('tree'));
  if ((weather.has('wind') || isFalling) && !absent.has('tree')) drawLeaves(stage, palette.foliage);
  drawLightOver(stage);
}

/** The grain of the ground, and the effects between it and the viewer. */
function drawNearness(stage: Stage, composition: Composition): void {
  const { setting, absent } = composition;
  if (setting === 'land') drawGroundGrain(stage);
  if (stage.light.isVisible && stage.light.body === 'sun' && setting !== 'space') drawRays(stage);
  if (setting !== 'space' && !absent.has('field')) drawCloseness(stage);
}

/**
 * Paints the whole scene.
 *
 * @param backdrop paints over the sky and the land on the horizon.
 */
export function paintScene(stage: Stage, composition: Composition, backdrop?: (stage: Stage) => void): void {
  switch (composition.setting) {
    case 'undersea':
      return paintUndersea(stage, composition);
    case 'table':
      return paintStillLife(stage, composition);
    case 'room':
      return paintRoom(stage, composition);
    case 'portrait':
      return paintPortrait(stage, composition);
    default:
  }
  const { width, height, horizon } = stage;
  const cast = castOf(composition);
  const grounds = makeGrounds(stage, composition, cast);
  const random = stage.random.fork('aloft');
  const room = new Room();
  const air = { left: 30, right: width - 30, top: horizon * 0.22, bottom: horizon * 0.74 };
  const aloft = cast.aloft.flatMap((entry) => placeInArea(entry, air, room, { random, isWater: false }));
  paintSky(stage, composition);
  const isRich = stage.detail === 'high' && !stage.isFlat;
  if (isRich && composition.setting !== 'space' && !composition.absent.has('cloud')) drawCirrus(stage);
  paintBackdrop(stage, composition);
  backdrop?.(stage);
  drawAll(
    aloft.filter(({ thing }) => thing !== 'butterfly'),
    stage,
  );
  paintMiddle(stage, composition, cast, grounds);
  if (composition.weather.has('fog')) drawFog(stage, 1);
  const { near } = grounds;
  if (near !== undefined) {
    const chance = stage.random.fork('standing');
    const things = cast.near.flatMap((entry) => placeOnGround(entry, near, height * 0.75, chance));
    paintGround(stage, composition, near, things);
  }
  if (isRich) drawNearness(stage, composition);
  drawAll(
    aloft.filter(({ thing }) => thing === 'butterfly'),
    stage,
  );
  return paintForeground(stage, composition, near !== undefined);
}
