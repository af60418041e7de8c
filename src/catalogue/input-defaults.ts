/**
 * What a model's schema says about omitted fields (`default`): the embedded engines are given those values, so that
 * one engine serves models with different defaults, and the behaviour is what a client reads in the schema.
 */
import { isRecord } from '../domain/json.ts';

type Input = Readonly<Record<string, unknown>>;

/**
 * The input, with the defaults of the schema's own properties for the fields that it omits; its own values stay as
 * they are.
 */
export function withDefaults(schema: Input, input: Input): Input {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const defaults = Object.entries(properties).flatMap(([name, property]) =>
    isRecord(property) && Object.hasOwn(property, 'default') ? [[name, property['default']] as const] : [],
  );
  return { ...Object.fromEntries(defaults), ...input };
}
