/**
 * One supervised process of the standalone installation: started and awaited until it is ready, restarted when it
 * dies, stopped within its time. It is given up only if it has never been ready: then the installation cannot start.
 * One that has been ready is restarted for as long as it takes, and the others go on without it.
 */
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../domain/waits.ts';
import type { Backoff } from '../domain/waits.ts';
import { StandaloneError } from './standalone-error.ts';
import { killGroup, launchProcess, readCpuTicks } from './processes.ts';
import type { Launch, ProcessRecord } from './processes.ts';
import type { LogFile } from './logs.ts';
import { indented, lastMessage, waitingLine, withNotices } from './logs.ts';

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
  /**
   * Resolves when the part is ready. Aborted if the process ends first.
   *
   * @param note says what it still waits for, for the terminal.
   */
  readonly waitUntilReady: (
    announced: Promise<ReadyMessage>,
    signal: AbortSignal,
    note: (what: string) => void,
  ) => Promise<void>;
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
  /** How often the terminal shows what is waited for; default: every ten seconds. */
  readonly noticeMs?: number;
  /** After how many notices a part that did nothing meanwhile is stuck; default: six. */
  readonly mostIdleNotices?: number;
  /** How long to wait before each restart; default: from a quarter of a second to half a minute. */
  readonly restarts?: Backoff;
}

/** Limit: a part that has died five times without ever being ready will not be ready the sixth time. */
const MOST_DEATHS = 5;
/** A part that was ready for this long before it died starts anew: its earlier deaths no longer count. */
const STEADY_MS = 60_000;
/**
 * The number of notices after which a starting part that lives, but has neither used the processor nor written a line,
 * is stuck: a minute. However slow the machine is, one that starts does something in that time.
 */
const MOST_IDLE_NOTICES = 6;
const STUCK = 'it did nothing while it started';
const RESTARTS: Backoff = { firstMs: 250, maxMs: 30_000 };

interface RunningChild {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Its own message that it is ready; never sent by a program that is not ours. */
  readonly announced: Promise<ReadyMessage>;
  /** The last line that it wrote; the log has those of its predecessors too. */
  readonly lastLine: () => string | undefined;
  /** How it ended, as text. */
  readonly ended: Promise<string>;
}

/** The exit of our own programs if restarting them is pointless (EX_CONFIG of sysexits.h; see main.ts). */
const UNUSABLE_CONFIGURATION = 'exit code 78';

/** What an exit code of our own programs means (processes/hang-watch.ts). */
const REASONS: Readonly<Record<string, string>> = {
  [UNUSABLE_CONFIGURATION]: 'its configuration is invalid; its log shows why',
  'exit code 86': 'its event loop was blocked; its log shows where',
};

export class Part {
  readonly #definition: PartDefinition;
  readonly #surroundings: PartSurroundings;
  readonly #stopping = new AbortController();
  #child: RunningChild | undefined;
  #loop: Promise<void> | undefined;

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
        reject(reason instanceof StandaloneError ? reason : new StandaloneError(reason.message, { cause: reason }));
      });
    });
  }

  /** Stops the part gracefully, then by force when its time is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#child !== undefined) await this.#end(this.#child);
    await this.#loop;
  }

  async #end(child: RunningChild): Promise<void> {
    child.process.kill(this.#definition.stopSignal);
    const timer = setTimeout(() => killGroup(child.pid), this.#definition.stopTimeoutMs);
    await child.ended;
    clearTimeout(timer);
  }

  /** Ends it at once. Synchronous, so that it also works while our own process ends. */
  kill(): void {
    this.#stopping.abort();
    if (this.#child !== undefined) killGroup(this.#child.pid);
  }

  async #runUntilStopped(onReady: () => void): Promise<void> {
    const { title } = this.#definition;
    const { report, restarts = RESTARTS } = this.#surroundings;
    const signal = this.#stopping.signal;
    let hasBeenReady = false;
    let deaths = 0;
    while (!signal.aborted) {
      let readySince: number | undefined;
      const end = await this.#runOnce(() => {
        readySince = performance.now();
        if (hasBeenReady) report(`${title} runs again.`);
        hasBeenReady = true;
        onReady();
      }).catch((error: unknown) => {
        if (!hasBeenReady) throw error;
        // Whatever keeps it from running now, it has run before.
        const [summary = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
        return summary;
      });
      if (signal.aborted) break;
      deaths = readySince !== undefined && performance.now() - readySince >= STEADY_MS ? 1 : deaths + 1;
      if (!hasBeenReady) {
        if (end === UNUSABLE_CONFIGURATION) throw this.#failure('cannot run with this configuration');
        if (deaths === MOST_DEATHS) {
          throw this.#failure(`ended ${MOST_DEATHS} times before it was ready (last: ${REASONS[end] ?? end})`);
        }
      }
      report(`${title} ended unexpectedly (${REASONS[end] ?? end}); starting it again.`);
      await delay(backoffMs(restarts, deaths - 1), undefined, { signal }).catch(() => undefined);
    }
    if (!hasBeenReady) throw new StandaloneError(`${title} was stopped before it was ready`);
  }

  /** Runs one process. @returns how it ended. */
  async #runOnce(onReady: () => void): Promise<string> {
    const child = await this.#launch();
    try {
      await this.#surroundings.record.add(this.#definition.name, child.pid, this.#definition.stopSignal);
      if (this.#stopping.signal.aborted) killGroup(child.pid);
      const isReady = await this.#waitUntilReady(child).catch(async (error: unknown) => {
        await this.#end(child);
        throw error;
      });
      if (isReady === true) onReady();
      const end = await child.ended;
      return isReady === undefined ? STUCK : end;
    } finally {
      // Processes that it started must not run at the same time as its successor.
      killGroup(child.pid);
      this.#child = undefined;
      this.#surroundings.record.remove(this.#definition.name);
    }
  }

  #failure(what: string): StandaloneError {
    const { log } = this.#surroundings;
    const lines = indented(log.lastLines);
    return new StandaloneError(
      `${this.#definition.title} ${what}.\n${lines === '' ? 'It wrote no log.' : `Its last log lines (${log.path}):\n${lines}`}`,
    );
  }

  async #launch(): Promise<RunningChild> {
    const { name } = this.#definition;
    const launch = await this.#definition.launch();
    const child = launchProcess(launch);
    let lastLine: string | undefined;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.#surroundings.log.write(line);
        if (line.trim() !== '') lastLine = line;
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
    this.#child = { process: child, pid, announced, lastLine: () => lastLine, ended };
    return this.#child;
  }

  /** @returns whether it became ready; false: it ended before; undefined: it was stuck, and was killed. */
  async #waitUntilReady(child: RunningChild): Promise<boolean | undefined> {
    const { title, waitUntilReady } = this.#definition;
    const { log, report, noticeMs, mostIdleNotices = MOST_IDLE_NOTICES } = this.#surroundings;
    const ended = new AbortController();
    const stuck = new AbortController();
    void child.ended.then(() => ended.abort());
    const signal = AbortSignal.any([stuck.signal, ended.signal, this.#stopping.signal]);
    let waitsFor: string | undefined;
    let [idleNotices, before] = [0, ''];
    const notice = async (seconds: number): Promise<void> => {
      report(waitingLine(title, seconds, waitsFor ?? lastMessage([child.lastLine() ?? ''])));
      const ticks = await readCpuTicks(child.pid);
      const now = `${ticks} ${log.lastLines.join()}`;
      idleNotices = ticks !== undefined && now === before ? idleNotices + 1 : 0;
      before = now;
      if (idleNotices >= mostIdleNotices) stuck.abort();
    };
    try {
      const becomingReady = waitUntilReady(child.announced, signal, (what) => {
        waitsFor = what;
      });
      await withNotices(becomingReady, (seconds) => void notice(seconds), noticeMs);
      return true;
    } catch (error) {
      if (!signal.aborted || error instanceof StandaloneError) throw error;
      if (!stuck.signal.aborted) return false;
      killGroup(child.pid);
      return undefined;
    }
  }
}
