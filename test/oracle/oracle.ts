/**
 * Compares a mapping with the official client of its provider: both are pointed at the same recorder and make the same
 * request, which must arrive as the same; then the recorder answers as the provider documents, and what the client
 * made of the answer is compared with what we made of it.
 */
import assert from 'node:assert/strict';
import { createModelReader } from '../../src/catalogue/load-models.ts';
import { createOffer } from '../../src/catalogue/offer.ts';
import { readModelTexts } from '../../src/catalogue/model-files.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS, UPSTREAM_PROTOCOLS } from '../../src/providers/protocols.ts';
import { ProviderFailure, ProviderRejection } from '../../src/providers/provider.ts';
import type { GenerationRequest, InputFile, Provider, UpstreamBinding } from '../../src/providers/provider.ts';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import type { Recorded } from '../providers/http/recorder.ts';

export const KEY = 'the-key';
export const TASK_ID = 'tk-svc-00000000000000000000000001';

const { definitions, providers, problems } = await createModelReader(PROTOCOLS)(
  await readModelTexts([packageFile('models')]),
);
assert.deepEqual(problems, []);

const adapters = new Map<string, Provider>();

/** The adapter of a protocol: each has a thread of its own, which takes a while to start. */
function createdOnce(protocol: (typeof UPSTREAM_PROTOCOLS)[number], secret: string): Provider {
  const key = `${protocol.name} ${secret}`;
  const provider = adapters.get(key) ?? protocol.create({ secrets: { get: () => secret }, logger: silentLogger() });
  adapters.set(key, provider);
  return provider;
}

/** One upstream of a model that comes with Darkroom, at a recorder. */
export interface MappedModel {
  readonly definition: ModelDefinition;
  readonly upstream: UpstreamBinding;
  /** The host of the provider, whose place the recorder takes. */
  readonly host: string;
  readonly provider: Provider;
  /** @throws what the model's schema rejects in the input. */
  requestFor(input: Readonly<Record<string, unknown>>, media?: ReadonlyMap<string, InputFile>): GenerationRequest;
}

/**
 * @param name of the model. @param origin of the recorder.
 * @param options `route` by default the default one; `index` of the upstream, by default the first; `secret` is what the
 *   credential is; `baseUrl` is the URL that is configured; `adjust` changes what else points away from the recorder.
 */
export function mapped(
  name: string,
  origin: string,
  {
    route = 'default',
    index = 0,
    secret = KEY,
    baseUrl,
    adjust = (one) => one,
  }: {
    readonly route?: string;
    readonly index?: number;
    readonly secret?: string;
    readonly baseUrl?: string;
    readonly adjust?: (upstream: UpstreamBinding) => UpstreamBinding;
  } = {},
): MappedModel {
  const settings = { hasCredential: () => true, baseUrlOf: (provider: string) => baseUrl ?? usualUrlOf(provider) };
  const offered = createOffer(settings)({ definitions, providers }).find((model) => model.name === name);
  assert.ok(offered !== undefined && isMediaModel(offered), `there is no model ${name}`);
  const upstream = offered.routes[route]?.upstreams[index];
  assert.ok(upstream?.baseUrl !== undefined, `${name} has no such upstream`);
  const url = new URL(upstream.baseUrl);
  const moved = adjust({ ...upstream, baseUrl: `${origin}${url.pathname === '/' ? '' : url.pathname}` });
  const protocol = UPSTREAM_PROTOCOLS.find((each) => each.name === upstream.protocol);
  assert.ok(protocol !== undefined);
  const adapter = createdOnce(protocol, secret);
  const check = compileCheck(offered.inputSchema, 'invalid input');
  return {
    definition: offered,
    upstream: moved,
    host: url.host,
    provider: adapter.boundTo?.(moved, offered.modality) ?? adapter,
    requestFor(input, media) {
      assert.equal(check(input), undefined);
      return { taskId: TASK_ID, upstream: moved, input, ...(media === undefined ? {} : { media }) };
    },
  };
}

/** Self-hosted servers are at the URL of their provider file. */
function usualUrlOf(name: string): string | undefined {
  const { isSelfHosted, upstream } = providers.find((provider) => provider.name === name) ?? {};
  return isSelfHosted === true && typeof upstream?.['baseUrl'] === 'string' ? upstream['baseUrl'] : undefined;
}

/** A request as far as a provider can see it. */
export interface Comparable {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
}

const COMPARED_HEADERS = ['authorization', 'content-type'];

/**
 * Requires that two requests are the same: host, method, path, query, authorization, content type and body, and the
 * named headers.
 *
 * @param options `host` of the provider; `headers` are compared too; `withoutQuery` lists parameters of the client that
 *   mean the same as none.
 */
export function assertSameRequest(
  ours: Recorded | undefined,
  theirs: Recorded | undefined,
  {
    headers = [],
    host,
    withoutQuery = [],
  }: { readonly headers?: readonly string[]; readonly host: string; readonly withoutQuery?: readonly string[] },
): void {
  assert.ok(ours !== undefined && theirs !== undefined, 'a request is missing');
  assert.equal(theirs.headers['x-oracle-host'], host);
  const expected = comparable(theirs, headers);
  const query = Object.fromEntries(Object.entries(expected.query).filter(([name]) => !withoutQuery.includes(name)));
  assert.deepEqual(comparable(ours, headers), { ...expected, query });
}

/** @param names of further headers. */
export function comparable({ method, url, headers, body }: Recorded, names: readonly string[] = []): Comparable {
  const { pathname, searchParams } = new URL(url, 'http://recorder');
  const type = headers['content-type'] ?? '';
  const compared = [...COMPARED_HEADERS, ...names].map((name) => {
    const value = headers[name];
    if (name !== 'content-type') return [name, Array.isArray(value) ? value.join() : value] as const;
    // Some clients name a type where nothing is sent.
    return [name, body.length === 0 ? undefined : type.split(';')[0]] as const;
  });
  return {
    method,
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: Object.fromEntries(compared),
    body: bodyOf(type, body),
  };
}

function bodyOf(type: string, body: Buffer): unknown {
  if (body.length === 0) return null;
  if (type.startsWith('application/json')) return JSON.parse(body.toString('utf8')) as unknown;
  const boundary = /boundary="?([^";]+)"?/.exec(type)?.[1];
  return boundary === undefined ? body.toString('base64') : partsOf(body, boundary);
}

/** The parts of a form: name, file name, type and content. */
function partsOf(body: Buffer, boundary: string): unknown {
  const sections = body.toString('latin1').split(`--${boundary}`).slice(1, -1);
  return sections
    .map((section) => {
      const [head = '', ...rest] = section.slice(2, -2).split('\r\n\r\n');
      const field = (pattern: RegExp): string | undefined => pattern.exec(head)?.[1];
      return {
        name: field(/ name="([^"]*)"/),
        isFile: / filename=/.test(head),
        type: field(/content-type: *([^\r;]+)/i)?.toLowerCase(),
        content: rest.join('\r\n\r\n'),
      };
    })
    .toSorted((one, other) => String(one.name).localeCompare(String(other.name)));
}

/** How a call of ours ended: its result, or the reason of the rejection or failure. */
export type Ended<Result> =
  | { readonly result: Result; readonly rejected?: undefined; readonly failed?: undefined }
  | { readonly rejected: string; readonly retryAfterMs: number | undefined }
  | { readonly failed: string };

/** @throws anything that is neither: an unknown outcome, or an answer that was not understood. */
export async function ended<Result>(call: Promise<Result>): Promise<Ended<Result>> {
  try {
    return { result: await call };
  } catch (error) {
    if (error instanceof ProviderRejection) return { rejected: error.reason, retryAfterMs: error.retryAfterMs };
    if (error instanceof ProviderFailure) return { failed: error.reason };
    throw error;
  }
}
