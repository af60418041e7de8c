/**
 * A whole Darkroom with the outside world of a task: the test provider behind a model for each protocol, and a
 * receiver of callbacks, each a process of its own with its own log.
 */
import assert from 'node:assert/strict';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { startCallbackReceiver } from './callback-receiver-process.ts';
import type { CallbackReceiver } from './callback-receiver-process.ts';
import type { ReceivedCallback } from './callback-receiver.ts';
import { startDarkroom } from './darkroom.ts';
import type { Darkroom, TestAccount } from './darkroom.ts';
import { writeModelFiles } from './model-files.ts';
import type { TestRoute } from './model-files.ts';
import { startTestProvider } from './test-provider/process.ts';
import type { LogLine } from './test-provider/log.ts';
import type { TestProvider } from './test-provider/process.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** The interval between two reads of a log, which is read completely. */
const LOG_POLL_MS = 100;

export class DarkroomWithUpstreams {
  readonly darkroom: Darkroom;
  readonly provider: TestProvider;
  readonly receiver: CallbackReceiver;
  readonly #modelsDir: string;

  constructor(darkroom: Darkroom, provider: TestProvider, receiver: CallbackReceiver, modelsDir: string) {
    this.darkroom = darkroom;
    this.provider = provider;
    this.receiver = receiver;
    this.#modelsDir = modelsDir;
  }

  /** Creates a task that must be accepted. @returns its id. */
  async create(
    account: TestAccount,
    body: { model: string; input: unknown; [more: string]: unknown },
  ): Promise<string> {
    const created = await account.client.create(body);
    assert.equal(created.status, 200, JSON.stringify(created.body));
    return created.body.data.taskId;
  }

  /** Changes the file of a model that has one upstream, as its operator would: every api loads it by itself. */
  async changeUpstream(model: string, changes: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#changeModel(model, ({ routes }) => {
      const [upstream] = routes['default']?.upstreams ?? [];
      return { routes: { default: { upstreams: [{ ...upstream, ...changes }] } } };
    });
  }

  /** The same for a model's prices. */
  async changePricing(model: string, changes: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#changeModel(model, ({ pricing }) => ({ pricing: { ...pricing, ...changes } }));
  }

  async #changeModel(model: string, changesOf: (definition: ModelDefinition) => object): Promise<void> {
    const file = path.join(this.#modelsDir, `${model}.json`);
    const definition = JSON.parse(await readFile(file, 'utf8')) as ModelDefinition;
    await writeFile(`${file}.new`, JSON.stringify({ ...definition, ...changesOf(definition) }));
    await rename(`${file}.new`, file);
  }

  /** What reached the provider for tasks whose prompt contains this. */
  async providerLog(marker: string): Promise<readonly LogLine[]> {
    return (await this.provider.readLog()).filter((line) => line.prompt?.includes(marker));
  }

  /** Waits until the provider has logged a line of this kind. */
  async waitForProvider(marker: string, kind: LogLine['kind']): Promise<void> {
    const isThere = async (): Promise<boolean> => {
      const log = await this.providerLog(marker);
      return log.some((line) => line.kind === kind);
    };
    await waitFor(`the provider has a ${kind} of ${marker}`, isThere, LOG_POLL_MS);
  }

  /** What reached the receiver for one task. */
  async callbacksOf(taskId: string): Promise<readonly ReceivedCallback[]> {
    const received = await this.receiver.readLog();
    return received.filter(({ body }) => (JSON.parse(body) as { taskId?: string }).taskId === taskId);
  }

  /** Waits until a task's callback was received. @returns everything received for it so far. */
  async waitForCalledBack(taskId: string): Promise<readonly ReceivedCallback[]> {
    const isThere = async (): Promise<boolean> => (await this.callbacksOf(taskId)).length > 0;
    await waitFor(`${taskId} is called back`, isThere, LOG_POLL_MS);
    return this.callbacksOf(taskId);
  }

  /** Asserts that an account has no hold and no running task left, and that all money is accounted for. */
  async assertSettled(account: TestAccount): Promise<void> {
    const { database } = this.darkroom.testDatabase;
    const counters = await database.query(
      {
        name: 'test_settled_counters',
        text: 'SELECT held_micro_usd AS held, running, queued FROM account_counters WHERE account_id = $1',
      },
      [account.id],
    );
    assert.deepEqual(counters, [{ held: 0n, running: 0, queued: 0 }]);
    assert.deepEqual(await verifyLedger(database), []);
  }

  async stop(): Promise<void> {
    await this.darkroom.stop();
    await Promise.all([this.provider.stop(), this.receiver.stop()]);
    await rm(this.#modelsDir, { recursive: true, force: true });
  }
}

/**
 * Starts all of it; the caller stops it.
 *
 * @param alsoAllowed additional entries of EGRESS_ALLOW.
 * @param models in addition to one for each protocol (model-files.ts).
 * @param databaseServer the PostgreSQL server to create the database on; default: the run's.
 */
export async function startDarkroomWithUpstreams(
  environment: Readonly<Record<string, string>> = {},
  alsoAllowed: readonly string[] = [],
  models: Readonly<Record<string, TestRoute>> = {},
  apis = 1,
  databaseServer?: string,
): Promise<DarkroomWithUpstreams> {
  const [provider, receiver] = await Promise.all([startTestProvider(), startCallbackReceiver()]);
  const modelsDir = await writeModelFiles(provider.url, models);
  try {
    const darkroom = await startDarkroom({
      apis,
      ...(databaseServer === undefined ? {} : { databaseServer }),
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: [provider.url, receiver.url, ...alsoAllowed].join(','),
        CALLBACK_OFFSETS_SECONDS: '0,1,2',
        ...environment,
      },
    });
    return new DarkroomWithUpstreams(darkroom, provider, receiver, modelsDir);
  } catch (error) {
    await Promise.all([provider.stop(), receiver.stop()]);
    await rm(modelsDir, { recursive: true, force: true });
    throw error;
  }
}
