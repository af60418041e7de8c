/** Deliveries and connections that Temporal rejected: how often, and whether it rejects them now. */
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { OUTBOX_KINDS } from './metrics-service.ts';

export interface OutboxMetrics {
  /** @param kind of outbox row. */
  rejected(kind: string): void;
  /** @param kind of outbox row. */
  delivered(kind: string): void;
  /** No connection was made: the server rejects the credentials, or TLS with it fails. */
  connectionRejected(): void;
  connected(): void;
}

/** A rejection is over if it has not been repeated for this long, in milliseconds: rows are retried each minute. */
const REJECTS_MS = 150_000;

/** The label of the connection, in addition to the kinds of rows. */
const CONNECTION = 'connection';

export function createOutboxMetrics(registry: Registry): OutboxMetrics {
  const rejections = new Counter({
    name: 'darkroom_outbox_refused_total',
    help: 'Rows of the outbox that Temporal rejected, by kind, and connections that it rejected; each attempt counts',
    labelNames: ['kind'],
    registers: [registry],
  });
  /** By kind: when the last rejection was, if nothing was accepted since. */
  const rejectedAt = new Map<string, number>();
  const rejects = new Gauge({
    name: 'darkroom_temporal_rejects',
    help: 'Whether Temporal rejects outbox rows of a kind, or connections, of this process at present',
    labelNames: ['kind'],
    registers: [registry],
    collect(): void {
      for (const kind of [...OUTBOX_KINDS, CONNECTION]) {
        rejects.set({ kind }, performance.now() - (rejectedAt.get(kind) ?? -Infinity) < REJECTS_MS ? 1 : 0);
      }
    },
  });
  for (const kind of [...OUTBOX_KINDS, CONNECTION]) rejections.inc({ kind }, 0);
  const reject = (kind: string): void => {
    rejections.inc({ kind });
    rejectedAt.set(kind, performance.now());
  };
  return {
    rejected: reject,
    delivered: (kind) => void rejectedAt.delete(kind),
    connectionRejected: () => reject(CONNECTION),
    connected: () => void rejectedAt.delete(CONNECTION),
  };
}
