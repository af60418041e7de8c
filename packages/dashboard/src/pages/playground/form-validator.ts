/**
 * The validator interface of the form library, implemented without generating code at run time, which the page's
 * policy forbids.
 */
import { toErrorSchema } from '@rjsf/utils';
import type { ErrorSchema, RJSFValidationError, ValidatorType } from '@rjsf/utils';
import type { Schema } from '../models/schema-rows.ts';
import { inputErrors } from './input-errors.ts';
import type { FieldError } from './input-errors.ts';

/** In the form library's format. */
function listed(errors: readonly FieldError[]): RJSFValidationError[] {
  return errors.map(({ path, message }) => ({
    property: path.map((name) => `[${JSON.stringify(name)}]`).join(''),
    message,
    stack: message,
  }));
}

/** Errors by field. */
export function errorsByField(errors: readonly FieldError[]): ErrorSchema {
  return toErrorSchema(listed(errors));
}

export const formValidator: ValidatorType = {
  validateFormData(formData, schema) {
    const errors = inputErrors(schema as Schema, formData);
    return { errors: listed(errors), errorSchema: errorsByField(errors) };
  },
  isValid: (schema, formData) => inputErrors(schema as Schema, formData).length === 0,
  rawValidation: () => ({}),
};
