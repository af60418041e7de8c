/**
 * One window of load, the same loop for both sides: a number of clients, each of which performs one operation after
 * another until the time is up. Runs in a process of its own, which receives its orders over its channel.
 */
import type { Operation } from '../measures.ts';
import { median } from '../measures.ts';

/** What a load process is ordered to do. */
export interface Order {
  readonly operation: Operation;
  readonly clients: number;
  readonly seconds: number;
}

/** The result. `perSecond` counts until the last operation had ended, so that none is half counted. */
export interface WindowResult {
  readonly operations: number;
  readonly perSecond: number;
  readonly medianMs: number;
}

export type Answer = { readonly result: WindowResult } | { readonly error: string };

/** One operation from start to end, as a client of that side performs it; throws if it did not succeed. */
export type Operations = Readonly<Record<Operation, (client: number, clients: number) => Promise<void>>>;

async function runWindow({ operation, clients, seconds }: Order, operations: Operations): Promise<WindowResult> {
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
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
  const elapsedSeconds = (performance.now() - begin) / 1000;
  return {
    operations: latencies.length,
    perSecond: latencies.length / elapsedSeconds,
    medianMs: median(latencies),
  };
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
