/** Deliveries and connections that Temporal rejected. */
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { OUTBOX_KINDS } from './metrics-service.ts';

export interface OutboxMetrics {
  /** @param kind of outbox row. */
  rejected(kind: string): void;
  /** No connection was made: the server rejects the credentials, or TLS with it fails. */
  connectionRejected(): void;
}

/** The label of the connection, in addition to the kinds of rows. */
const CONNECTION = 'connection';

export function createOutboxMetrics(registry: Registry): OutboxMetrics {
  const rejections = new Counter({
    name: 'darkroom_outbox_refused_total',
    help: 'Rows of the outbox that Temporal rejected, by kind, and connections that it rejected; each attempt counts',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of [...OUTBOX_KINDS, CONNECTION]) rejections.inc({ kind }, 0);
  return {
    rejected: (kind) => rejections.inc({ kind }),
    connectionRejected: () => rejections.inc({ kind: CONNECTION }),
  };
}
