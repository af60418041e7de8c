/** The form of a model's input, generated from its schema. It is only rendered here; the caller has the errors. */
import { Fieldset, Stack, Text } from '@mantine/core';
// Not the packages' entry points: they include a validator that generates code at run time, and date pickers.
import Form from '@rjsf/core/lib/components/Form.js';
import ArrayFieldItemTemplate from '@rjsf/mantine/lib/templates/ArrayFieldItemTemplate.js';
import ArrayFieldTemplate from '@rjsf/mantine/lib/templates/ArrayFieldTemplate.js';
import ButtonTemplates from '@rjsf/mantine/lib/templates/ButtonTemplates/index.js';
import FieldTemplate from '@rjsf/mantine/lib/templates/FieldTemplate.js';
import MultiSchemaFieldTemplate from '@rjsf/mantine/lib/templates/MultiSchemaFieldTemplate.js';
import WrapIfAdditionalTemplate from '@rjsf/mantine/lib/templates/WrapIfAdditionalTemplate.js';
import type { FieldProps, ObjectFieldTemplateProps, RJSFSchema, RegistryWidgetsType, UiSchema } from '@rjsf/utils';
import { useMemo } from 'react';
import type { ReactNode } from 'react';
import type { Schema } from '../models/schema-rows.ts';
import { errorsByField, formValidator } from './form-validator.ts';
import { mediaKindOf } from './input-data.ts';
import type { Input } from './input-data.ts';
import type { FieldError } from './input-errors.ts';
import { MediaField } from './media-field.tsx';
import { ChoiceWidget, NumberWidget, SwitchWidget, TextWidget } from './widgets.tsx';

interface InputFormProps {
  readonly schema: Schema;
  readonly value: Input;
  readonly errors: readonly FieldError[];
  readonly onChange: (value: Input) => void;
}

export function InputForm({ schema, value, errors, onChange }: InputFormProps) {
  const uiSchema = useMemo(() => uiSchemaOf(schema), [schema]);
  const shown = useMemo(() => errorsByField(errors), [errors]);
  return (
    <Form
      // It is already inside a form.
      tagName="div"
      idPrefix="input"
      schema={schema as RJSFSchema}
      uiSchema={uiSchema}
      formData={value}
      validator={formValidator}
      widgets={WIDGETS}
      fields={{ media: OneMedium, mediaList: SeveralMedia }}
      templates={TEMPLATES}
      onChange={({ formData }) => onChange((formData ?? {}) as Input)}
      noValidate
      extraErrors={shown}
      showErrorList={false}
      experimental_defaultFormStateBehavior={{
        arrayMinItems: { populate: 'never' },
        emptyObjectFields: 'skipDefaults',
      }}
    >
      {/* Without a button of its own. */}
      <></>
    </Form>
  );
}

const TEMPLATES = {
  ArrayFieldDescriptionTemplate: Description,
  ArrayFieldItemTemplate,
  ArrayFieldTemplate,
  ArrayFieldTitleTemplate: ListTitle,
  BaseInputTemplate: TextWidget,
  ButtonTemplates: ButtonTemplates(),
  DescriptionFieldTemplate: Description,
  // Each control shows its own.
  FieldErrorTemplate: Nothing,
  FieldTemplate,
  MultiSchemaFieldTemplate,
  ObjectFieldTemplate: Members,
  WrapIfAdditionalTemplate,
};

const WIDGETS: RegistryWidgetsType = {
  TextWidget,
  TextareaWidget: TextWidget,
  PasswordWidget: TextWidget,
  EmailWidget: TextWidget,
  URLWidget: TextWidget,
  ColorWidget: TextWidget,
  DateWidget: TextWidget,
  DateTimeWidget: TextWidget,
  TimeWidget: TextWidget,
  FileWidget: TextWidget,
  CheckboxWidget: SwitchWidget,
  SelectWidget: ChoiceWidget,
  RadioWidget: ChoiceWidget,
  CheckboxesWidget: ChoiceWidget,
  UpDownWidget: NumberWidget,
  RangeWidget: NumberWidget,
};

/** In the frame's legend: not a heading. */
function ListTitle({ title, required }: { readonly title?: ReactNode; readonly required?: boolean }) {
  return (
    <>
      {title}
      {required === true ? ' *' : null}
    </>
  );
}

function Nothing() {
  return null;
}

function Description({ description }: { readonly description?: ReactNode }) {
  return description === undefined || description === '' ? null : (
    <Text size="sm" component="div" mb="xs">
      {description}
    </Text>
  );
}

/** Titles in words, and the controls that the library would not select by itself. */
function uiSchemaOf({ properties = {} }: Schema): UiSchema {
  return {
    'ui:submitButtonOptions': { norender: true },
    ...Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, uiOf(name, field)])),
  };
}

function uiOf(name: string, field: Schema): UiSchema {
  const title = { 'ui:title': inWords(name) };
  if (mediaKindOf(field) !== undefined) return { 'ui:title': withoutUrl(name), 'ui:field': 'media' };
  if (field.items !== undefined && mediaKindOf(field.items) !== undefined)
    return { 'ui:title': withoutUrl(name), 'ui:field': 'mediaList' };
  if ((field.type === 'integer' || field.type === 'number') && field.enum === undefined)
    return { ...title, 'ui:widget': 'updown' };
  if (field.properties !== undefined) return { ...title, ...uiSchemaOf(field) };
  if (field.items?.properties !== undefined) return { ...title, items: uiSchemaOf(field.items) };
  return title;
}

/** For the user who uploads it, a file is not a URL: `image_urls` → `Images`. */
function withoutUrl(name: string): string {
  return inWords(name.replace(/_url(?=s?$)/, ''));
}

/** `callback_urls` → `Callback URLs`. */
function inWords(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').replaceAll(/\burl(s?)\b/gi, 'URL$1');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The fields of an object below each other; those of a nested object in a frame with its name. */
function Members({ properties, title, description, fieldPathId }: ObjectFieldTemplateProps) {
  const members = <Stack gap="lg">{properties.filter(({ hidden }) => !hidden).map(({ content }) => content)}</Stack>;
  if (fieldPathId.path.length === 0) return members;
  return (
    <Fieldset legend={title} id={fieldPathId.$id}>
      {description}
      {members}
    </Fieldset>
  );
}

function mediaProps({ fieldPathId, schema, uiSchema, name, required, rawErrors = [], errorSchema }: FieldProps) {
  const ofItems = Object.values(
    (errorSchema ?? {}) as Readonly<Record<string, { __errors?: string[] } | string[]>>,
  ).flatMap((each) => (Array.isArray(each) ? [] : (each.__errors ?? [])));
  return {
    id: fieldPathId.$id,
    label: uiSchema?.['ui:title'] ?? name,
    description: schema.description,
    isRequired: required === true,
    errors: [...new Set([...rawErrors, ...ofItems])],
  };
}

function OneMedium(props: FieldProps) {
  const { schema, formData, onChange, fieldPathId } = props;
  return (
    <MediaField
      {...mediaProps(props)}
      kind={mediaKindOf(schema as Schema) ?? 'any'}
      most={1}
      values={typeof formData === 'string' ? [formData] : []}
      onChange={([value]) => onChange(value, fieldPathId.path)}
    />
  );
}

function SeveralMedia(props: FieldProps) {
  const { schema, formData, onChange, fieldPathId } = props;
  return (
    <MediaField
      {...mediaProps(props)}
      kind={mediaKindOf((schema as Schema).items ?? {}) ?? 'any'}
      most={schema.maxItems ?? Infinity}
      values={Array.isArray(formData) ? formData.filter((each) => typeof each === 'string') : []}
      onChange={(values) => onChange(values.length === 0 ? undefined : values, fieldPathId.path)}
    />
  );
}
