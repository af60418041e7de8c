/** The provider of an upstream as a worker has it, with its notes in the log. */
import { pino } from 'pino';
import type { Logger } from 'pino';
import type { ModelDefinition, Upstream } from '../../../catalogue/definition.ts';
import { UPSTREAM_PROTOCOLS } from '../../../providers/protocols.ts';
import type { Provider } from '../../../providers/provider.ts';
import { AdminError } from '../admin-error.ts';
import type { RunLog } from './run-log.ts';

/** @throws {AdminError} the upstream makes no requests. */
export function createProvider(
  upstream: Upstream,
  definition: ModelDefinition,
  deps: Parameters<(typeof UPSTREAM_PROTOCOLS)[number]['create']>[0],
): Provider {
  const protocol = UPSTREAM_PROTOCOLS.find(({ name }) => name === upstream.protocol);
  if (protocol === undefined) {
    throw new AdminError(`protocol ${upstream.protocol} runs in the worker and sends no requests`);
  }
  const provider = protocol.create(deps);
  return provider.boundTo?.(upstream, definition.modality) ?? provider;
}

interface LogLine extends Readonly<Partial<Record<'member' | 'code' | 'status' | 'reason', string | number>>> {
  readonly msg: string;
}

/** What a worker would log about an exchange; what it logs about an expression is shown with its reason. */
export function createNotes(log: RunLog): Logger {
  const write = (line: string): void => {
    const { msg, member, code, status, reason } = JSON.parse(line) as LogLine;
    if (member !== undefined) return;
    const details = [status, reason, code].filter((detail) => detail !== undefined).join(', ');
    log.add({ step: 'note', text: `a worker logs: ${msg}${details === '' ? '' : ` (${details})`}` });
  };
  return pino({ base: null, timestamp: false }, { write });
}
