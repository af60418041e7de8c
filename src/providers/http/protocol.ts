import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { HttpBindingSchema, findBinding } from './binding.ts';
import { createHttpProvider } from './http-provider.ts';
import { findBindingProblem } from './validate-binding.ts';

export const httpProtocol: UpstreamProtocol = {
  name: 'http',
  fields: { http: HttpBindingSchema },
  problemOf(upstream) {
    const binding = findBinding(upstream);
    if (binding === undefined) return 'http: missing for protocol http';
    if (upstream.baseUrl === undefined) return 'baseUrl: missing for protocol http';
    const problem = findBindingProblem(binding);
    return problem === undefined ? undefined : `http.${problem}`;
  },
  hookOf: (upstream) => findBinding(upstream)?.hook,
  create: createHttpProvider,
};
