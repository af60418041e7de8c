/**
 * One window of load, the same loop for both sides: a number of clients, each of which performs one operation after
 * another until the time is up. Runs in a process of its own, which receives its orders over its channel.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Operation } from '../measures.ts';
import { median } from '../measures.ts';

/** What a load process is ordered to do. */
export interface Order {
  readonly operation: Operation;
  readonly clients: number;
  /** Open loop: operations begin at this rate, each by a client that is free; `clients` is not used. */
  readonly beginsPerSecond?: number;
  readonly seconds: number;
}

/** The result. `perSecond` counts until the last operation had ended, so that none is half counted. */
export interface WindowResult {
  readonly operations: number;
  readonly perSecond: number;
  readonly medianMs: number;
}

export type Answer<Result = WindowResult> = { readonly result: Result } | { readonly error: string };

/** One operation from start to end, as a client of that side performs it; throws if it did not succeed. */
export type Operations = Readonly<Record<Operation, (client: number, clients: number) => Promise<void>>>;

async function runWindow(order: Order, operations: Operations): Promise<WindowResult> {
  const begin = performance.now();
  const { beginsPerSecond } = order;
  const latencies =
    beginsPerSecond === undefined
      ? await runClosedLoop(order, operations)
      : await runOpenLoop(order, beginsPerSecond, operations);
  const elapsedSeconds = (performance.now() - begin) / 1000;
  return {
    operations: latencies.length,
    perSecond: latencies.length / elapsedSeconds,
    medianMs: median(latencies),
  };
}

/** Each client begins its next operation when its last one has ended. */
async function runClosedLoop({ operation, clients, seconds }: Order, operations: Operations): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + seconds * 1000;
  const perform = operations[operation];
  const runClient = async (client: number): Promise<void> => {
    // At least once, however short the window.
    do {
      const started = performance.now();
      await perform(client, clients);
      latencies.push(performance.now() - started);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)));
  return latencies;
}

/** Latency counts from when an operation was due, so that one which had to begin late is not made to look fast. */
async function runOpenLoop(
  { operation, seconds }: Order,
  beginsPerSecond: number,
  operations: Operations,
): Promise<number[]> {
  const latencies: number[] = [];
  const free: number[] = [];
  let clients = 0;
  const begin = performance.now();
  const perform = async (due: number): Promise<void> => {
    const client = free.pop() ?? clients++;
    await operations[operation](client, 1);
    latencies.push(performance.now() - due);
    free.push(client);
  };
  const all = Array.from({ length: Math.max(1, Math.round(seconds * beginsPerSecond)) }, async (_, index) => {
    const due = begin + (index * 1000) / beginsPerSecond;
    await sleep(due - performance.now());
    await perform(due);
  });
  await Promise.all(all);
  return latencies;
}

/** Executes orders, one at a time, until the channel closes. */
export function serveOrders(operations: Operations): void {
  process.on('message', (order: Order) => {
    runWindow(order, operations).then(
      (result) => process.send?.({ result } satisfies Answer),
      (error: unknown) => process.send?.({ error: error instanceof Error ? (error.stack ?? '') : String(error) }),
    );
  });
  process.once('disconnect', () => process.exit(0));
  process.send?.('ready');
}
