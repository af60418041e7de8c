/** Deliveries and connections that Temporal rejected. */
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { OUTBOX_KINDS } from './metrics-service.ts';

export interface OutboxMetrics {
  /** @param kind of outbox row. */
  refused(kind: string): void;
  /** No connection was made: the server rejects the credentials, or TLS with it fails. */
  connectionRejected(): void;
}

/** In addition to the kinds of rows. */
const CONNECTION = 'connection';

export function createOutboxMetrics(registry: Registry): OutboxMetrics {
  const refusals = new Counter({
    name: 'darkroom_outbox_refused_total',
    help: 'Rows of the outbox that Temporal refused, by kind, and connections that it rejected; each attempt counts',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of [...OUTBOX_KINDS, CONNECTION]) refusals.inc({ kind }, 0);
  return {
    refused: (kind) => refusals.inc({ kind }),
    connectionRejected: () => refusals.inc({ kind: CONNECTION }),
  };
}
