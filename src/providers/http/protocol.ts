import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { HttpBindingSchema, findBinding } from './binding.ts';
import { createHttpProvider } from './http-provider.ts';
import { findBindingGaps, findMemberProblems, mediaFieldsOf } from './validate-binding.ts';

export const httpProtocol: UpstreamProtocol = {
  name: 'http',
  fields: { http: HttpBindingSchema },
  problemsOf(upstream) {
    const binding = findBinding(upstream);
    return binding === undefined ? [] : within(findMemberProblems(binding));
  },
  gapsOf(upstream) {
    const binding = findBinding(upstream);
    return [
      ...(binding === undefined ? ['http: missing for protocol http'] : []),
      ...(upstream.baseUrl === undefined ? ['baseUrl: missing for protocol http'] : []),
      ...(binding === undefined ? [] : within(findBindingGaps(binding))),
    ];
  },
  mediaFieldsOf(upstream) {
    const binding = findBinding(upstream);
    return binding === undefined
      ? []
      : mediaFieldsOf(binding).map(([position, field]) => [`http.${position}`, field] as const);
  },
  hookOf: (upstream) => findBinding(upstream)?.hook,
  create: createHttpProvider,
};

function within(problems: readonly string[]): readonly string[] {
  return problems.map((problem) => `http.${problem}`);
}
