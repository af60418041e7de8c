/**
 * How model files name an upstream of one protocol. Each directory of src/providers defines its own; the catalogue
 * knows only those that it is given.
 */
import type { TSchema } from 'typebox';
import type { ModelDefinition, Upstream } from './definition.ts';

export interface Protocol {
  /** The value of `protocol`. */
  readonly name: string;
  /** The fields of an upstream that only this protocol has, each with its JSON Schema. */
  readonly fields?: Readonly<Record<string, TSchema>>;
  /** Validates an upstream beyond its form. @returns the first problem with its position, or undefined. */
  problemOf?(upstream: Upstream): string | undefined;
}

/** @returns the first problem of an upstream with its position, or undefined: each can be called as it is written. */
export function findUpstreamProblem({ routes }: ModelDefinition, protocols: readonly Protocol[]): string | undefined {
  for (const [route, { upstreams }] of Object.entries(routes)) {
    // Positions are those of the file: the members of a pool are one entry there.
    let index = -1;
    let pool: string | undefined;
    for (const upstream of upstreams) {
      if (upstream.pool === undefined || upstream.pool !== pool) index++;
      pool = upstream.pool;
      const problem = problemOf(upstream, protocols);
      if (problem !== undefined) return `routes.${route}.upstreams.${index}.${problem}`;
    }
  }
  return undefined;
}

function problemOf(upstream: Upstream, protocols: readonly Protocol[]): string | undefined {
  const own = protocols.find(({ name }) => name === upstream.protocol);
  if (own === undefined) {
    const names = protocols.map(({ name }) => name).join(', ');
    return `protocol: there is no ${JSON.stringify(upstream.protocol)}, only ${names}`;
  }
  for (const { name, fields = {} } of protocols) {
    const foreign = name === own.name ? undefined : Object.keys(fields).find((field) => field in upstream);
    if (foreign !== undefined) return `${foreign}: only protocol ${name} has it`;
  }
  return own.problemOf?.(upstream);
}
