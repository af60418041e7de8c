/**
 * The installation that the batch bench measures: a durable PostgreSQL, Temporal on a file, an api and a worker, each
 * of which can be ended by kill -9 and started again, and an account with a priced model that does hardly any work.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { packageFile } from '../../../src/config/package-root.ts';
import { startKillableServices } from '../../kill/killable-services.ts';
import { startDarkroom } from '../../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../../support/darkroom.ts';

export const MODEL = 'bench/swatch-with-price';
/** The price of one task in micro-USD: any but 0, so that a second charge shows. */
export const PRICE_MICRO_USD = 1_000n;
const PRICE_USD = '0.001';
/** More than a batch of the largest size costs. */
export const BALANCE_MICRO_USD = 1_000_000_000n;

export const PARTS = ['api', 'worker', 'temporal', 'postgres'] as const;
export type Part = (typeof PARTS)[number];

/** Something that ends without warning and starts again. */
interface Killable {
  kill(): Promise<unknown>;
  start(): Promise<void>;
}

export interface Installation {
  readonly darkroom: Darkroom;
  readonly account: TestAccount;
  readonly api: Role;
  readonly worker: Role;
  readonly parts: Readonly<Record<Part, Killable>>;
}

/** Starts it for the duration of `work`. @param runningCap how many tasks of the account run at once. */
export async function withInstallation(
  runningCap: number,
  work: (installation: Installation) => Promise<void>,
): Promise<void> {
  const closing: (() => Promise<void>)[] = [];
  try {
    await work(await start(runningCap, closing));
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function start(runningCap: number, closing: (() => Promise<void>)[]): Promise<Installation> {
  const models = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-batch-'));
  closing.push(() => rm(models, { recursive: true, force: true }));
  await writeModel(models);
  const services = await startKillableServices();
  closing.push(() => services.stop());
  const darkroom = await startDarkroom({
    databaseServer: services.databaseUrl,
    temporalAddress: services.temporalAddress,
    isSupervised: true,
    environment: { MODELS_DIR: models, LOG_LEVEL: 'warn' },
  });
  closing.push(() => darkroom.stop());
  const account = await darkroom.createAccount({ usd: BALANCE_MICRO_USD, runningCap, queueCap: 10_000 });
  const [[api], [worker]] = [darkroom.apis, darkroom.workers];
  if (api === undefined || worker === undefined) throw new Error('an api and a worker were requested');
  const { temporal, postgres } = services;
  return { darkroom, account, api, worker, parts: { api, worker, temporal, postgres } };
}

async function writeModel(directory: string): Promise<void> {
  const text = await readFile(packageFile('test/bench/models/swatch.json'), 'utf8');
  const model = { ...JSON.parse(text), name: MODEL, pricing: { unit: 'image', usd: PRICE_USD } };
  await writeFile(path.join(directory, 'swatch.json'), JSON.stringify(model));
}
