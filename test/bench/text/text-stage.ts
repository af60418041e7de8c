/**
 * Everything that text calls are measured on: an upstream, a bare pass-through before it as the yardstick, an api
 * before it on a durable database, and the clients of both, each in a process of its own.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDatabase } from '../../../src/database/database.ts';
import { migrate } from '../../../src/database/migrate.ts';
import type { Launch } from '../../../src/standalone/processes.ts';
import { findFreePort } from '../../../src/standalone/ports.ts';
import { clusterUrl } from '../../../src/standalone/postgres.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { createBenchAccount } from '../stage/account.ts';
import { Child, stopAll } from '../stage/children.ts';
import { startBenchCluster } from '../stage/cluster.ts';
import { loadLaunch, roleEnvironment, roleLaunch } from '../stage/node-launch.ts';
import type { TextOrder, TextWindow } from './clients.ts';

interface Address {
  readonly port: number;
  readonly apiKey: string;
  readonly model: string;
}

export type TextSide = 'bare' | 'ours';
export type TextLoad = Omit<TextOrder, keyof Address>;

export class TextStage {
  readonly #directory: string;
  readonly #children = new Set<Child>();
  readonly #helpers = new Set<ChildProcess>();
  #parts: { api: Child; clients: ChildProcess; addresses: Readonly<Record<TextSide, Address>> } | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** @param profileDirectory for a CPU profile of the api. The caller must call `close`. */
  static async open(profileDirectory: string | undefined): Promise<TextStage> {
    const stage = new TextStage(await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-text-')));
    try {
      await stage.#start(profileDirectory);
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  get apiPid(): number {
    return this.#opened().api.pid;
  }

  /** Lets the clients of one side run a window. */
  async run(side: TextSide, load: TextLoad): Promise<TextWindow> {
    const { clients, addresses } = this.#opened();
    clients.send({ ...addresses[side], ...load } satisfies TextOrder);
    const [answer] = (await once(clients, 'message')) as [{ result: TextWindow } | { error: string }];
    if ('error' in answer) throw new Error(answer.error);
    return answer.result;
  }

  async warmUp(clients: number): Promise<void> {
    for (const side of ['bare', 'ours'] as const) {
      for (const isStreamed of [false, true]) await this.run(side, { isStreamed, clients, seconds: 3 });
    }
  }

  async close(): Promise<void> {
    await stopAll(this.#children);
    for (const helper of this.#helpers) if (helper.connected) helper.disconnect();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #start(profileDirectory: string | undefined): Promise<void> {
    const upstream = await this.#startHelper<{ port: number }>(loadLaunch('text/upstream.ts', []));
    const passThrough = await this.#startHelper<{ port: number }>(
      loadLaunch('text/pass-through.ts', [String(upstream.ready.port)]),
    );
    const clients = (await this.#startHelper<string>(loadLaunch('text/clients.ts', []))).process;
    const cluster = await startBenchCluster(this.#directory, { isDurable: true, children: this.#children });
    const databaseUrl = clusterUrl(cluster, 'postgres');
    const database = openDatabase({ url: databaseUrl, poolSize: 1 }, silentLogger());
    await migrate(databaseUrl, database, silentLogger());
    const { key } = await createBenchAccount(database);
    await database.close();

    const models = path.join(this.#directory, 'models');
    await mkdir(models);
    await writeFile(path.join(models, 'far.json'), JSON.stringify(modelFile(upstream.ready.port)));
    const port = await findFreePort();
    const storeDirectory = path.join(this.#directory, 'store');
    const environment = { ...roleEnvironment({ databaseUrl, storeDirectory, port }), MODELS_DIR: models };
    const launch = roleLaunch('api', environment, profileDirectory);
    const api = new Child('api', launch, path.join(this.#directory, 'api.log'));
    this.#children.add(api);
    await api.ready();
    this.#parts = {
      api,
      clients,
      addresses: {
        bare: { port: passThrough.ready.port, apiKey: 'none', model: 'far' },
        ours: { port, apiKey: key.secret, model: 'bench/far' },
      },
    };
  }

  /** Starts a process that sends a message when it is ready. */
  async #startHelper<Ready>(launch: Launch): Promise<{ readonly process: ChildProcess; readonly ready: Ready }> {
    const child = spawn(launch.command, [...launch.args], {
      env: launch.environment,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#helpers.add(child);
    const [ready] = (await once(child, 'message')) as [Ready];
    return { process: child, ready };
  }

  #opened() {
    if (this.#parts === undefined) throw new Error('the stage is not open');
    return this.#parts;
  }
}

function modelFile(port: number): object {
  return {
    name: 'bench/far',
    modality: 'text',
    ownedBy: 'bench',
    created: 1_795_000_000,
    description: 'For measuring.',
    upstreams: [{ protocol: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, model: 'far' }],
    contextTokens: 128_000,
    maxOutputTokens: 4_096,
    features: [],
    pricing: { unit: 'token', inputUsd: '1', outputUsd: '4' },
  };
}
