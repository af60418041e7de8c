import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { HttpBindingSchema, findBinding } from './binding.ts';
import { createHttpProvider } from './http-provider.ts';
import { findBindingProblems } from './validate-binding.ts';

export const httpProtocol: UpstreamProtocol = {
  name: 'http',
  fields: { http: HttpBindingSchema },
  problemsOf(upstream) {
    const binding = findBinding(upstream);
    return [
      ...(binding === undefined ? ['http: missing for protocol http'] : []),
      ...(upstream.baseUrl === undefined ? ['baseUrl: missing for protocol http'] : []),
      ...(binding === undefined ? [] : findBindingProblems(binding).map((problem) => `http.${problem}`)),
    ];
  },
  hookOf: (upstream) => findBinding(upstream)?.hook,
  create: createHttpProvider,
};
