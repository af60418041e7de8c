/**
 * The things that stand on a table, by name: which function draws each, and how tall it is relative to the others.
 */
import type { Thing } from './lexicon.ts';
import * as belongings from './layers/belongings.ts';
import * as dishes from './layers/dishes.ts';
import * as food from './layers/food.ts';
import * as tableware from './layers/tableware.ts';
import type { DrawThing } from './stage.ts';

export interface TableThing {
  readonly draw: DrawThing;
  /** In logical units, if it is one of few. */
  readonly height: number;
  /** Half its width, as a share of its height. */
  readonly half: number;
}

function thing(draw: DrawThing, height: number, half: number): TableThing {
  return { draw, height, half };
}

export const TABLE_THINGS: { readonly [Name in Thing]?: TableThing } = {
  cup: thing(tableware.drawCup, 190, 0.8),
  teapot: thing(tableware.drawTeapot, 270, 0.9),
  bottle: thing(tableware.drawBottle, 460, 0.2),
  goblet: thing(tableware.drawGoblet, 300, 0.32),
  vase: thing(tableware.drawVase, 520, 0.48),
  candle: thing(tableware.drawCandle, 280, 0.3),
  book: thing(tableware.drawBook, 120, 1),
  clock: thing(tableware.drawClock, 240, 0.45),
  houseplant: thing(tableware.drawHouseplant, 430, 0.5),
  bowl: thing(food.drawFruitBowl, 260, 0.9),
  apple: thing(food.drawApple, 130, 0.55),
  pear: thing(food.drawPear, 170, 0.42),
  lemon: thing(food.drawLemon, 105, 0.75),
  citrus: thing(food.drawCitrus, 125, 0.5),
  grape: thing(food.drawGrapes, 150, 0.55),
  bread: thing(food.drawBread, 120, 1.1),
  cheese: thing(food.drawCheese, 130, 0.95),
  pumpkin: thing(food.drawPumpkin, 220, 0.62),
  pizza: thing(dishes.drawPizza, 150, 1.75),
  burger: thing(dishes.drawBurger, 240, 0.95),
  noodles: thing(dishes.drawNoodles, 250, 0.95),
  pancake: thing(dishes.drawPancakes, 260, 1),
  doughnut: thing(dishes.drawDoughnut, 150, 0.95),
  'ice-cream': thing(dishes.drawIceCream, 330, 0.42),
  shoe: thing(belongings.drawShoe, 190, 1.1),
  flask: thing(belongings.drawFlask, 330, 0.4),
  crystal: thing(dishes.drawCrystalBall, 330, 0.45),
  cake: thing(food.drawCake, 250, 0.8),
};
