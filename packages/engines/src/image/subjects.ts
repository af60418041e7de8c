/**
 * Every thing that is drawn as one object: how tall it is, where it belongs, and which function draws it. Heights are
 * in logical units for a thing that stands close by; things further away are smaller by the scale of their ground.
 */
import * as buildings from './layers/buildings.ts';
import * as creatures from './layers/creatures.ts';
import * as fabled from './layers/fabled.ts';
import * as flora from './layers/flora.ts';
import * as flyers from './layers/flyers.ts';
import * as landmarks from './layers/landmarks.ts';
import * as people from './layers/people.ts';
import * as small from './layers/small-animals.ts';
import * as street from './layers/street-things.ts';
import * as swimmers from './layers/swimmers.ts';
import * as vessels from './layers/vessels.ts';
import * as walkers from './layers/walkers.ts';
import type { Thing } from './lexicon.ts';
import type { DrawThing } from './stage.ts';

/** Where a thing belongs: on ground close by or further away, on water, in the air. */
type Zone = 'near' | 'middle' | 'water' | 'air' | 'across';

/** The land around a thing if the prompt names none. */
export type Habitat = 'meadow' | 'forest' | 'desert' | 'sea' | 'lake' | 'undersea' | 'space' | 'snow' | 'road' | 'sky';

export interface Subject {
  readonly draw: DrawThing;
  readonly height: number;
  /** Half its width, as a share of its height: how much space it takes. */
  readonly half: number;
  readonly zone: Zone;
  readonly habitat: Habitat;
}

function subject(draw: DrawThing, height: number, half: number, zone: Zone, habitat: Habitat): Subject {
  return { draw, height, half, zone, habitat };
}

export const SUBJECTS: { readonly [Name in Thing]?: Subject } = {
  house: subject(buildings.drawHouse, 165, 0.75, 'middle', 'meadow'),
  castle: subject(buildings.drawCastle, 390, 0.65, 'middle', 'meadow'),
  lighthouse: subject(landmarks.drawLighthouse, 440, 0.4, 'middle', 'sea'),
  windmill: subject(landmarks.drawWindmill, 320, 0.5, 'middle', 'meadow'),
  church: subject(buildings.drawChurch, 320, 0.6, 'middle', 'meadow'),
  temple: subject(buildings.drawTemple, 380, 0.5, 'middle', 'lake'),
  tower: subject(buildings.drawTower, 380, 0.2, 'middle', 'meadow'),
  pyramid: subject(landmarks.drawPyramid, 360, 0.95, 'middle', 'desert'),
  tent: subject(landmarks.drawTent, 105, 1, 'near', 'lake'),
  campfire: subject(landmarks.drawCampfire, 52, 0.6, 'near', 'forest'),
  eiffel: subject(fabled.drawEiffel, 620, 0.22, 'middle', 'road'),
  chest: subject(fabled.drawChest, 130, 0.9, 'near', 'sea'),
  lamppost: subject(street.drawLamppost, 330, 0.1, 'near', 'road'),
  bench: subject(street.drawBench, 92, 1.1, 'near', 'lake'),
  umbrella: subject(street.drawUmbrella, 190, 0.7, 'near', 'sea'),
  bicycle: subject(street.drawBicycle, 140, 0.9, 'near', 'road'),
  motorcycle: subject(street.drawMotorcycle, 135, 1.1, 'near', 'road'),
  bridge: subject(landmarks.drawBridge, 120, 1, 'across', 'lake'),
  fence: subject(flora.drawFence, 66, 1, 'across', 'meadow'),
  rock: subject(flora.drawRock, 70, 0.9, 'near', 'meadow'),
  mushroom: subject(flora.drawMushroom, 96, 0.5, 'near', 'forest'),
  boat: subject(vessels.drawSailboat, 190, 0.5, 'water', 'sea'),
  rowboat: subject(vessels.drawRowboat, 86, 1.05, 'water', 'lake'),
  ship: subject(vessels.drawShip, 150, 1.4, 'water', 'sea'),
  car: subject(vessels.drawCar, 92, 1.4, 'near', 'road'),
  train: subject(vessels.drawTrain, 100, 3.4, 'middle', 'meadow'),
  balloon: subject(flyers.drawBalloon, 200, 0.42, 'air', 'meadow'),
  plane: subject(flyers.drawPlane, 90, 1.1, 'air', 'sky'),
  rocket: subject(flyers.drawRocket, 210, 0.5, 'air', 'space'),
  ufo: subject(flyers.drawUfo, 80, 1, 'air', 'meadow'),
  kite: subject(flyers.drawKite, 92, 0.5, 'air', 'meadow'),
  lantern: subject(flyers.drawLantern, 52, 0.6, 'air', 'lake'),
  bird: subject(flyers.drawBird, 42, 1, 'air', 'sea'),
  dragon: subject(fabled.drawDragon, 190, 1.3, 'air', 'sky'),
  bee: subject(small.drawBee, 56, 0.7, 'air', 'meadow'),
  eagle: subject(flyers.drawEagle, 110, 1.1, 'air', 'sky'),
  butterfly: subject(flyers.drawButterfly, 46, 0.6, 'air', 'meadow'),
  penguin: subject(small.drawPenguin, 165, 0.4, 'near', 'snow'),
  frog: subject(small.drawFrog, 105, 1.1, 'near', 'lake'),
  turtle: subject(small.drawTurtle, 105, 1.1, 'near', 'sea'),
  parrot: subject(small.drawParrot, 190, 1.1, 'near', 'forest'),
  mermaid: subject(fabled.drawMermaid, 230, 0.9, 'near', 'sea'),
  owl: subject(creatures.drawOwl, 150, 0.4, 'near', 'forest'),
  duck: subject(swimmers.drawSwan, 74, 0.8, 'water', 'lake'),
  cat: subject(creatures.drawCat, 150, 0.5, 'near', 'meadow'),
  dog: subject(creatures.drawDog, 165, 0.5, 'near', 'meadow'),
  fox: subject(creatures.drawFox, 160, 0.6, 'near', 'forest'),
  wolf: subject(creatures.drawWolf, 175, 0.6, 'near', 'forest'),
  rabbit: subject(creatures.drawRabbit, 110, 0.4, 'near', 'meadow'),
  horse: subject(walkers.drawHorse, 215, 0.7, 'near', 'meadow'),
  unicorn: subject(walkers.drawUnicorn, 215, 0.7, 'near', 'meadow'),
  deer: subject(walkers.drawDeer, 215, 0.5, 'near', 'forest'),
  bear: subject(walkers.drawBear, 190, 0.75, 'near', 'forest'),
  cow: subject(walkers.drawCow, 165, 0.8, 'near', 'meadow'),
  sheep: subject(walkers.drawSheep, 105, 0.7, 'near', 'meadow'),
  lion: subject(walkers.drawLion, 170, 0.8, 'near', 'meadow'),
  elephant: subject(walkers.drawElephant, 250, 0.9, 'near', 'meadow'),
  tiger: subject(walkers.drawTiger, 170, 0.8, 'near', 'forest'),
  panda: subject(walkers.drawPanda, 185, 0.75, 'near', 'forest'),
  zebra: subject(walkers.drawZebra, 205, 0.7, 'near', 'meadow'),
  giraffe: subject(walkers.drawGiraffe, 360, 0.4, 'near', 'meadow'),
  camel: subject(walkers.drawCamel, 200, 0.6, 'near', 'desert'),
  whale: subject(swimmers.drawWhale, 125, 1.8, 'water', 'sea'),
  dolphin: subject(swimmers.drawDolphin, 100, 1.2, 'water', 'sea'),
  octopus: subject(small.drawOctopus, 210, 0.9, 'water', 'undersea'),
  fish: subject(swimmers.drawFish, 78, 1, 'water', 'undersea'),
  jellyfish: subject(swimmers.drawJellyfish, 140, 0.5, 'water', 'undersea'),
  person: subject(people.drawPerson, 175, 0.22, 'near', 'meadow'),
  couple: subject(people.drawCouple, 170, 0.45, 'near', 'sea'),
  astronaut: subject(people.drawAstronaut, 215, 0.4, 'near', 'space'),
  robot: subject(people.drawRobot, 205, 0.4, 'near', 'meadow'),
  snowman: subject(people.drawSnowman, 190, 0.4, 'near', 'snow'),
};
