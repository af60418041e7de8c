/** What a model file must satisfy about its upstreams, beyond the form: each can be called as it is written. */
import { PROTOCOLS } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { httpBindingProblem } from './http-binding.ts';

type Upstream = ModelDefinition['routes'][string]['upstreams'][number];

/** The first problem with its position, or undefined. */
export function upstreamProblem({ routes }: ModelDefinition): string | undefined {
  for (const [route, { upstreams }] of Object.entries(routes)) {
    for (const [place, upstream] of upstreams.entries()) {
      const problem = problemOf(upstream);
      if (problem !== undefined) return `routes.${route}.upstreams.${place}.${problem}`;
    }
  }
  return undefined;
}

function problemOf({ protocol, api, http, baseUrl }: Upstream): string | undefined {
  if (!PROTOCOLS.includes(protocol))
    return `protocol: there is no ${JSON.stringify(protocol)}, only ${PROTOCOLS.join(', ')}`;
  if (api !== undefined && protocol !== 'openai') return 'api: only protocol openai has several';
  if (protocol !== 'http') return http === undefined ? undefined : 'http: the protocol is another';
  if (http === undefined) return 'http: missing for protocol http';
  if (baseUrl === undefined) return 'baseUrl: missing for protocol http';
  const problem = httpBindingProblem(http);
  return problem === undefined ? undefined : `http.${problem}`;
}
