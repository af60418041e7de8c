/** Schemathesis, which generates requests from an OpenAPI document: valid ones, invalid ones and sequences of them. */
import { obtainPackage, whyNoPackage } from './python-environment.ts';

const SCHEMATHESIS = { name: 'schemathesis', version: '4.32.5' };

/** Why it cannot run here, for the `skip` of a test; false if it can. */
export function whyNoSchemathesis(): string | false {
  return whyNoPackage(SCHEMATHESIS);
}

/** @returns the Python that has it: `<python> -m schemathesis.cli run …`. */
export function obtainSchemathesis(): Promise<string> {
  return obtainPackage(SCHEMATHESIS);
}
