/**
 * One process of the world, which may be killed, stopped, paused and started again. As a supervisor would, it starts
 * the process again when it ends by itself, and records that.
 */
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { killGroup, launchProcess } from '../../../src/standalone/processes.ts';
import type { Launch } from '../../../src/standalone/processes.ts';

export interface PartOptions {
  readonly name: string;
  readonly launch: () => Launch | Promise<Launch>;
  /** Resolves when it can be used; one with a channel reports it itself. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** The signal that stops it gracefully. */
  readonly stopSignal: NodeJS.Signals;
  readonly logFile: string;
}

/** An end that was not requested. */
export interface OwnEnd {
  readonly at: number;
  readonly name: string;
  readonly exit: string;
}

const START_TIMEOUT_MS = 90_000;
const RESTART_AFTER_MS = 1_000;
/** Longer than any of them takes to stop gracefully: a worker waits for upstreams (world.ts). */
const STOP_TIMEOUT_MS = 50_000;

export class Part {
  readonly name: string;
  readonly ownEnds: OwnEnd[] = [];
  readonly #options: PartOptions;
  #child: ChildProcess | undefined;
  #isWanted = false;
  #starting: Promise<void> | undefined;

  constructor(options: PartOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get pid(): number | undefined {
    const child = this.#child;
    return child === undefined || hasEnded(child) ? undefined : child.pid;
  }

  /** Starts it, repeatedly until it can be used. */
  async start(): Promise<void> {
    this.#isWanted = true;
    this.#starting ??= this.#startUntilReady().finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  /** Kills it and everything it started, without warning. @returns how it ended. */
  async kill(): Promise<string> {
    return this.#end((pid) => killGroup(pid));
  }

  /** Stops it gracefully. */
  async stop(): Promise<string> {
    return this.#end((pid) => process.kill(pid, this.#options.stopSignal));
  }

  /** Sends SIGSTOP or SIGCONT to it and everything it started. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    const { pid } = this;
    if (pid !== undefined) process.kill(-pid, signal);
  }

  /** Sends it a message over its channel. */
  send(message: Readonly<Record<string, unknown>>): void {
    if (this.#child?.connected === true) this.#child.send(message);
  }

  async #startUntilReady(): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      try {
        await this.#startOnce();
        return;
      } catch (error) {
        if (!this.#isWanted) return;
        if (Date.now() > deadline)
          throw new Error(`${this.name} does not start; see ${this.#options.logFile}`, { cause: error });
        await this.#reap();
        await sleep(RESTART_AFTER_MS);
      }
    }
  }

  async #startOnce(): Promise<void> {
    const child = launchProcess(await this.#options.launch());
    this.#child = child;
    const log = createWriteStream(this.#options.logFile, { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream?.pipe(log, { end: false });
    const ended = new AbortController();
    const said = new Promise<void>((resolve) => {
      child.once('message', () => resolve());
    });
    child.once('error', () => ended.abort());
    child.once('exit', (code, signal) => {
      ended.abort();
      if (this.#child !== child || !this.#isWanted) return;
      this.ownEnds.push({ at: Date.now(), name: this.name, exit: String(signal ?? code) });
      if (this.#starting !== undefined) return;
      setTimeout(() => {
        if (this.#isWanted) this.start().catch(() => undefined);
      }, RESTART_AFTER_MS);
    });
    const { signal } = ended;
    const timer = setTimeout(() => ended.abort(), START_TIMEOUT_MS);
    await Promise.race([
      child.channel === undefined || child.channel === null ? this.#options.ready(signal) : said,
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error(`${this.name} ended while it started`)), {
          once: true,
        });
      }),
    ]).finally(() => clearTimeout(timer));
  }

  async #end(end: (pid: number) => void): Promise<string> {
    this.#isWanted = false;
    const child = this.#child;
    if (child?.pid === undefined || hasEnded(child)) return 'was down';
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    const { pid } = child;
    end(pid);
    const timer = setTimeout(() => killGroup(pid), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
    return String(child.signalCode ?? child.exitCode);
  }

  /** Ends what is left of a start that failed. */
  async #reap(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || hasEnded(child)) return;
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    killGroup(child.pid);
    await exited;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
