/**
 * One supervised process of the standalone installation: started and awaited until it is ready, restarted when it
 * dies, given up when it dies too often, stopped within its time.
 */
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../domain/backoff.ts';
import type { Backoff } from '../domain/backoff.ts';
import { StandaloneError } from './standalone-error.ts';
import { killGroup, launchProcess } from './launch.ts';
import type { Launch } from './launch.ts';
import type { LogFile } from './log-files.ts';
import type { ProcessRecord } from './process-record.ts';

/** The message that one of our own processes sends over its channel when it is ready. */
export interface ReadyMessage {
  readonly type: 'ready';
  /** The address of the api. */
  readonly url?: string;
  /** The address of the listener for operators. */
  readonly adminUrl?: string;
}

/** The definition of a part. */
export interface PartDefinition {
  /** The name of its log file and the prefix of its lines on the terminal: `postgres`. */
  readonly name: string;
  /** Its name in sentences: `PostgreSQL`. */
  readonly title: string;
  /** Called at each start. */
  readonly launch: () => Promise<Launch>;
  /** Resolves when the part is ready. Aborted if the process ends first. */
  readonly waitUntilReady: (announced: Promise<ReadyMessage>, signal: AbortSignal) => Promise<void>;
  readonly stopSignal: NodeJS.Signals;
  /** Time after the signal; then it is killed. */
  readonly stopTimeoutMs: number;
}

/** Where a part writes, and what it reports to. */
export interface PartSurroundings {
  readonly log: LogFile;
  readonly record: ProcessRecord;
  readonly onLine: (part: string, line: string) => void;
  readonly report: (line: string) => void;
  /** Called once, when the part is given up. */
  readonly onGivenUp: (error: StandaloneError) => void;
}

/** Limit: five deaths within a minute are not an accident. */
const MOST_DEATHS = 5;
const DEATHS_WINDOW_MS = 60_000;
const READY_TIMEOUT_MS = 60_000;
const RESTARTS: Backoff = { firstMs: 250, maxMs: 5_000 };

interface RunningChild {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Its own message that it is ready; never sent by a program that is not ours. */
  readonly announced: Promise<ReadyMessage>;
  /** How it ended, as text. */
  readonly ended: Promise<string>;
}

/** The exit of our own programs if restarting them is pointless (EX_CONFIG of sysexits.h; see main.ts). */
const UNUSABLE_CONFIGURATION = 'exit code 78';

/** What an exit code of our own programs means (processes/hang-watch.ts). */
const REASONS: Readonly<Record<string, string>> = {
  'exit code 86': 'its event loop was blocked; its log shows where',
};

export class Part {
  readonly #definition: PartDefinition;
  readonly #surroundings: PartSurroundings;
  readonly #stopping = new AbortController();
  #child: RunningChild | undefined;
  #loop: Promise<void> | undefined;
  #deaths: number[] = [];

  constructor(definition: PartDefinition, surroundings: PartSurroundings) {
    this.#definition = definition;
    this.#surroundings = surroundings;
  }

  /** The running process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the part and restarts it from then on if it ends. Resolves when it is ready.
   *
   * @throws {StandaloneError} it was given up before it was ever ready.
   */
  async start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#loop = this.#runUntilStopped(resolve).catch((error: unknown) => {
        const reason = error instanceof Error ? error : new Error(String(error));
        const givenUp =
          reason instanceof StandaloneError ? reason : new StandaloneError(reason.message, { cause: reason });
        reject(givenUp);
        if (!this.#stopping.signal.aborted) this.#surroundings.onGivenUp(givenUp);
      });
    });
  }

  /** Stops the part gracefully, then by force when its time is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const child = this.#child;
    if (child !== undefined) {
      child.process.kill(this.#definition.stopSignal);
      const timer = setTimeout(() => killGroup(child.pid), this.#definition.stopTimeoutMs);
      await child.ended;
      clearTimeout(timer);
    }
    await this.#loop;
  }

  /** Ends it at once. Synchronous, so that it also works while our own process ends. */
  kill(): void {
    this.#stopping.abort();
    if (this.#child !== undefined) killGroup(this.#child.pid);
  }

  async #runUntilStopped(onReady: () => void): Promise<void> {
    const { title } = this.#definition;
    const { report } = this.#surroundings;
    let hasBeenReady = false;
    while (!this.#stopping.signal.aborted) {
      const child = await this.#launch();
      if (this.#stopping.signal.aborted) killGroup(child.pid);
      const isReady = await this.#waitUntilReady(child);
      if (isReady) {
        if (hasBeenReady) report(`${title} runs again.`);
        hasBeenReady = true;
        onReady();
      }
      const end = await child.ended;
      // Processes that it started must not run at the same time as its successor.
      killGroup(child.pid);
      this.#child = undefined;
      this.#surroundings.record.remove(this.#definition.name);
      if (this.#stopping.signal.aborted) break;
      if (end === UNUSABLE_CONFIGURATION) throw this.#failure('cannot run with this configuration');
      const attempt = this.#countDeath(end);
      report(`${title} ended unexpectedly (${REASONS[end] ?? end}); starting it again.`);
      await delay(backoffMs(RESTARTS, attempt - 1), undefined, { signal: this.#stopping.signal }).catch(
        () => undefined,
      );
    }
    if (!hasBeenReady) throw new StandaloneError(`${title} was stopped before it was ready`);
  }

  /** @returns the number of deaths within the window, including this one. */
  #countDeath(end: string): number {
    const now = Date.now();
    this.#deaths = [...this.#deaths.filter((at) => now - at < DEATHS_WINDOW_MS), now];
    if (this.#deaths.length < MOST_DEATHS) return this.#deaths.length;
    throw this.#failure(`ended ${MOST_DEATHS} times within a minute (last: ${end})`);
  }

  #failure(what: string): StandaloneError {
    const { log } = this.#surroundings;
    const lines = log.lastLines.map((line) => `  ${line}`).join('\n');
    return new StandaloneError(
      `${this.#definition.title} ${what}.\n${lines === '' ? 'It wrote no log.' : `Its last log lines (${log.path}):\n${lines}`}`,
    );
  }

  async #launch(): Promise<RunningChild> {
    const { name, stopSignal } = this.#definition;
    const launch = await this.#definition.launch();
    const child = launchProcess(launch);
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.#surroundings.log.write(line);
        if (!this.#stopping.signal.aborted) this.#surroundings.onLine(name, line);
      });
    }
    const announced = new Promise<ReadyMessage>((resolve) => {
      child.on('message', (message) => {
        if (typeof message === 'object' && 'type' in message && message.type === 'ready')
          resolve(message as ReadyMessage);
      });
    });
    // 'close' and not 'exit': the last lines of a dying process contain the reason.
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    const { pid } = child;
    if (pid === undefined) throw this.#failure(`could not be started: ${await ended}`);
    // Children of a killed process may hold its output open: once they are killed, 'close' is emitted.
    child.once('exit', () => killGroup(pid));
    this.#child = { process: child, pid, announced, ended };
    await this.#surroundings.record.add(name, pid, stopSignal);
    return this.#child;
  }

  async #waitUntilReady(child: RunningChild): Promise<boolean> {
    const timeout = AbortSignal.timeout(READY_TIMEOUT_MS);
    const ended = new AbortController();
    void child.ended.then(() => ended.abort());
    const signal = AbortSignal.any([timeout, ended.signal, this.#stopping.signal]);
    try {
      await this.#definition.waitUntilReady(child.announced, signal);
      return true;
    } catch (error) {
      if (!signal.aborted || error instanceof StandaloneError) throw error;
      if (!timeout.aborted) return false;
      killGroup(child.pid);
      await child.ended;
      throw this.#failure(`was not ready within ${READY_TIMEOUT_MS / 1000} s`);
    }
  }
}
