/** A job API whose responses are whatever a test says, by the name of a case: one base URL and one model for each. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { HttpBinding } from '../../src/providers/http/binding.ts';

/** The binding that is sufficient for most cases. */
export const HOSTILE_JOBS: HttpBinding = {
  submit: { path: "'/jobs'", body: '{ "say": prompt, "hook": $hookUrl }' },
  jobId: 'id',
  poll: { path: "'/jobs/' & $jobId", state: 'state' },
  outputs: 'files',
  cost: 'usd',
};

export interface HostileRequest {
  readonly method: string;
  /** Below the base URL of the case. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The base URL of the case. */
  readonly baseUrl: string;
}

/** Answers itself, or returns what is sent as JSON. */
export type HostileAnswer = (request: HostileRequest, response: ServerResponse) => unknown;

export interface HostileProvider {
  readonly url: string;
  /** What arrived for a case, in order. */
  requestsOf(name: string): readonly HostileRequest[];
  stop(): void;
}

export async function startHostileProvider(answers: Readonly<Record<string, HostileAnswer>>): Promise<HostileProvider> {
  const requests = new Map<string, HostileRequest[]>();
  let url = '';
  const server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const [, name = '', ...rest] = (incoming.url ?? '').split('/');
      const { method = '', headers } = incoming;
      const request = { method, path: `/${rest.join('/')}`, headers, body, baseUrl: `${url}/${name}` };
      requests.set(name, [...(requests.get(name) ?? []), request]);
      const answer = answers[name]?.(request, response);
      if (answer !== undefined) response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requestsOf: (name) => requests.get(name) ?? [],
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The model file of a case: `test/<its name>`. @param upstream what is its own. */
export function hostileModel(
  name: string,
  providerUrl: string,
  {
    http = HOSTILE_JOBS,
    modality = 'image',
    handlingSeconds = 120,
    upstream = {},
  }: {
    readonly http?: HttpBinding;
    readonly modality?: string;
    readonly handlingSeconds?: number;
    readonly upstream?: Readonly<Record<string, unknown>>;
  } = {},
): object {
  return {
    name: `test/${name}`,
    modality,
    ownedBy: 'test',
    created: 0,
    description: `A provider that misbehaves: ${name}.`,
    routes: {
      default: {
        upstreams: [
          {
            id: name,
            protocol: 'http',
            baseUrl: `${providerUrl}/${name}`,
            secret: 'test',
            model: name,
            http,
            ...upstream,
          },
        ],
      },
    },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: { prompt: { type: 'string', minLength: 1, maxLength: 100 } },
    },
    pricing: { unit: 'task', usd: '0.03' },
    limits: { queuedSeconds: 600, handlingSeconds, archivingSeconds: 60 },
    typicalSeconds: 1,
    examples: [{ prompt: 'anything' }],
  };
}
