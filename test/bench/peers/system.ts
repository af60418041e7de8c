/**
 * One system while it is measured: its servers, its worker, which can be killed, and the process of its clients, all
 * with a directory of their own.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Launch } from '../../../src/standalone/processes.ts';
import { Child, stopAll } from '../stage/children.ts';
import { surroundings } from '../stage/node-launch.ts';

/** Jobs that a worker executes at once, where a system has such a limit; as many as there are clients. */
export const CONCURRENCY = 32;

/** What a system consists of, beside its clients. */
export interface Parts {
  /** For its clients and for its worker, if it has a script. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Absent: that of the peer's script. */
  readonly workerLaunch?: Launch;
  /** Absent: those that the peer's script has written down. */
  readonly readExecutions?: (jobs: readonly string[]) => Promise<readonly Execution[]>;
}

export interface Execution {
  readonly job: string;
  /** In milliseconds since 1970, when it was executed. */
  readonly at: number;
}

export interface SystemFacts {
  /** What the report calls it. */
  readonly name: string;
  readonly script: string;
  readonly version: string;
  /** @param children receives every server, before it is awaited. */
  start(directory: string, children: Set<Child>): Promise<Parts>;
}

export interface Timed {
  readonly latenciesMs: readonly number[];
  readonly perSecond: number;
}

export interface BurstResult {
  readonly ids: readonly string[];
  readonly unfinished: readonly string[];
  /** When the last result arrived, in milliseconds since 1970. */
  readonly lastAt: number;
}

export type PeerOrder =
  | { readonly kind: 'accept' | 'finish'; readonly clients: number; readonly seconds: number }
  | {
      readonly kind: 'burst';
      readonly clients: number;
      readonly jobs: number;
      readonly reportAfter: number;
      readonly silenceSeconds: number;
    };

export class System {
  readonly #facts: SystemFacts;
  readonly #directory: string;
  readonly #scripts: string;
  readonly #children = new Set<Child>();
  #parts: Parts | undefined;
  #worker: Child | undefined;
  #clients: Child | undefined;

  constructor(facts: SystemFacts, directory: string, scripts: string) {
    this.#facts = facts;
    this.#directory = directory;
    this.#scripts = scripts;
  }

  /** Starts its servers, a worker and the clients; the caller must call `close`. */
  async open(): Promise<void> {
    await writeFile(this.#executionsFile, '');
    this.#parts = await this.#facts.start(this.#directory, this.#children);
    await this.startWorker();
    this.#clients = this.#launch('clients', this.#scriptLaunch('clients'));
    await this.#clients.ready();
  }

  async startWorker(): Promise<void> {
    const worker = this.#launch('worker', this.#opened().workerLaunch ?? this.#scriptLaunch('worker'));
    this.#worker = worker;
    await worker.ready();
  }

  async stopWorker(signal: NodeJS.Signals): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    await worker.stop(signal);
    this.#children.delete(worker);
    this.#worker = undefined;
  }

  async run(order: PeerOrder & { readonly kind: 'accept' | 'finish' }): Promise<Timed> {
    return this.#clientsProcess().order<Timed>(order);
  }

  /** @param onReached when as many results have arrived as the order says. */
  async burst(order: PeerOrder & { readonly kind: 'burst' }, onReached: () => Promise<void>): Promise<BurstResult> {
    let reached: Promise<void> | undefined;
    const result = await this.#clientsProcess().order<BurstResult>(order, () => {
      reached ??= onReached();
      // It is awaited below, and may fail before that.
      reached.catch(() => undefined);
    });
    await reached;
    return result;
  }

  async executionsOf(jobs: readonly string[]): Promise<readonly Execution[]> {
    const { readExecutions } = this.#opened();
    if (readExecutions !== undefined) return readExecutions(jobs);
    const wanted = new Set(jobs);
    const lines = (await readFile(this.#executionsFile, 'utf8')).split('\n').filter((line) => line !== '');
    return lines.flatMap((line) => {
      const [at = '', job = ''] = line.split(' ');
      return wanted.has(job) ? [{ job, at: Number(at) }] : [];
    });
  }

  async close(): Promise<void> {
    await stopAll(this.#children);
  }

  get #executionsFile(): string {
    return path.join(this.#directory, 'executions');
  }

  #scriptLaunch(role: 'worker' | 'clients'): Launch {
    const options = { ...this.#opened().options, executionsFile: this.#executionsFile };
    return {
      command: process.execPath,
      args: [path.join(this.#scripts, 'host.mjs'), `./${this.#facts.script}`, role, JSON.stringify(options)],
      environment: surroundings(),
      hasChannel: true,
    };
  }

  #launch(name: string, launch: Launch): Child {
    const child = new Child(name, launch, path.join(this.#directory, `${name}.log`));
    this.#children.add(child);
    return child;
  }

  #opened(): Parts {
    if (this.#parts === undefined) throw new Error(`${this.#facts.name} was not started`);
    return this.#parts;
  }

  #clientsProcess(): Child {
    if (this.#clients === undefined) throw new Error(`${this.#facts.name} was not started`);
    return this.#clients;
  }
}
