/** The controls of a form: one for each kind of field, each with its label, its description, and its error. */
import {
  ActionIcon,
  Box,
  Chip,
  Group,
  Input,
  NativeSelect,
  NumberInput,
  Slider,
  Switch,
  Text,
  TextInput,
  Textarea,
  Tooltip,
} from '@mantine/core';
import { IconArrowsShuffle } from '@tabler/icons-react';
import type { WidgetProps } from '@rjsf/utils';
import { useId } from 'react';
import { texts } from '../../texts/playground.ts';
import type { Schema } from '../models/schema-rows.ts';
import { anotherSeed } from './input-data.ts';
import classes from './playground.module.css';

/** The parts around every control. */
function around({ id, label, schema, required, rawErrors = [], disabled, readonly }: WidgetProps) {
  return {
    id,
    label,
    description: schema.description,
    withAsterisk: required === true,
    error: rawErrors.length === 0 ? undefined : rawErrors.join(' '),
    disabled: disabled === true || readonly === true,
  };
}

/** From this maximum length on a text gets several lines. */
const LONG_TEXT = 300;

export function TextWidget(props: WidgetProps) {
  const { value, onChange, schema, required } = props;
  const text = typeof value === 'string' ? value : '';
  const { maxLength } = schema;
  const isLong = maxLength === undefined || maxLength > LONG_TEXT;
  const shared = {
    ...around(props),
    value: text,
    'aria-required': required === true,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onChange(currentTarget.value === '' ? undefined : currentTarget.value),
  };
  if (!isLong) return <TextInput {...shared} />;
  return (
    <Box>
      <Textarea {...shared} autosize minRows={props.name === 'negative_prompt' ? 2 : 3} maxRows={14} />
      {maxLength === undefined || text.length < maxLength * 0.8 ? null : (
        <Text size="xs" ta="end" mt={2}>
          {texts.fields.characters([...text].length, maxLength)}
        </Text>
      )}
    </Box>
  );
}

export function SwitchWidget(props: WidgetProps) {
  const { error, ...shared } = around(props);
  return (
    <Switch
      {...shared}
      {...(error === undefined ? {} : { error })}
      checked={props.value === true}
      onChange={({ currentTarget }) => props.onChange(currentTarget.checked)}
    />
  );
}

/** More choices, or longer ones, are shown in a drop-down list. */
const MOST_CHIPS = 14;
const LONGEST_CHIP = 20;
const RATIO = /^(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)$/;

export function ChoiceWidget(props: WidgetProps) {
  return props.multiple === true ? <SeveralChoices {...props} /> : <OneChoice {...props} />;
}

/** Any number of them. */
function SeveralChoices(props: WidgetProps) {
  const { options, value, onChange } = props;
  const choices = options.enumOptions ?? [];
  const values: readonly unknown[] = Array.isArray(value) ? value : [];
  const { id, label, description, withAsterisk, error, disabled } = around(props);
  const group = useId();
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      labelProps={{ id: `${group}-label` }}
      description={description}
      error={error}
      withAsterisk={withAsterisk}
    >
      <Chip.Group
        multiple
        value={choices.flatMap((choice, index) => (values.includes(choice.value) ? [String(index)] : []))}
        onChange={(indexes) =>
          onChange(
            choices.filter((_, index) => indexes.includes(String(index))).map((choice) => choice.value as unknown),
          )
        }
      >
        <Group gap={6} mt={6} id={id} role="group" aria-labelledby={`${group}-label`} tabIndex={-1}>
          {choices.map((choice, index) => (
            <Chip key={choice.label} value={String(index)} size="sm" radius="sm" disabled={disabled}>
              {choice.label}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </Input.Wrapper>
  );
}

function OneChoice(props: WidgetProps) {
  const { options, value, onChange, required, schema } = props;
  const choices = (options.enumOptions ?? []).filter((choice) => choice.value !== null);
  const chosen = choices.findIndex((choice) => choice.value === value);
  const choose = (index: string): void => onChange(index === '' ? undefined : choices[Number(index)]?.value);
  const { id, label, description, withAsterisk, error, disabled } = around(props);
  const group = useId();
  if (choices.length > MOST_CHIPS || choices.some((choice) => choice.label.length > LONGEST_CHIP)) {
    return (
      <NativeSelect
        {...around(props)}
        value={chosen === -1 ? '' : String(chosen)}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
        data={[
          ...(chosen === -1 || required !== true ? [{ value: '', label: texts.fields.notSet }] : []),
          ...choices.map((choice, index) => ({ value: String(index), label: choice.label })),
        ]}
      />
    );
  }
  const mayClear = required !== true && schema.default === undefined;
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      labelProps={{ id: `${group}-label` }}
      description={description}
      error={error}
      withAsterisk={withAsterisk}
    >
      <Chip.Group value={chosen === -1 ? '' : String(chosen)} onChange={choose}>
        <Group gap={6} mt={6} id={id} role="radiogroup" aria-labelledby={`${group}-label`} tabIndex={-1}>
          {mayClear ? (
            <Chip value="" size="sm" radius="sm" disabled={disabled}>
              {texts.fields.notSet}
            </Chip>
          ) : null}
          {choices.map((choice, index) => (
            <Chip
              key={choice.label}
              value={String(index)}
              size="sm"
              radius="sm"
              disabled={disabled}
              icon={null}
              classNames={{ iconWrapper: classes['noCheck'] ?? '', label: classes['chip'] ?? '' }}
            >
              <RatioShape text={choice.label} />
              {choice.label}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </Input.Wrapper>
  );
}

/** A small frame with the ratio of a text such as `16:9`; nothing for any other text. */
function RatioShape({ text }: { readonly text: string }) {
  const [, width, height] = RATIO.exec(text) ?? [];
  if (width === undefined || height === undefined) return null;
  const [across, down] = [Number(width), Number(height)];
  const scale = 14 / Math.max(across, down);
  return (
    <span
      aria-hidden
      className={classes['ratio']}
      style={{ width: Math.max(3, across * scale), height: Math.max(3, down * scale) }}
    />
  );
}

/** A wider range than this gets no slider. */
const WIDEST_SLIDE = 1_000;

export function NumberWidget(props: WidgetProps) {
  const { schema, value, onChange, name, required } = props;
  const number = typeof value === 'number' ? value : undefined;
  const { minimum, maximum } = schema;
  const { id, label, description, withAsterisk, error, disabled } = around(props);
  const isWhole = schema.type === 'integer';
  const step = stepOf(schema as Schema);
  const input = {
    ...(minimum === undefined ? {} : { min: minimum }),
    ...(maximum === undefined ? {} : { max: maximum }),
    step,
    disabled,
    // A value outside the range is reported as an error, and not changed silently.
    clampBehavior: 'none' as const,
    allowDecimal: !isWhole,
    value: number ?? '',
    onChange: (next: string | number) => onChange(typeof next === 'number' ? next : undefined),
  };
  const canSlide = minimum !== undefined && maximum !== undefined && maximum - minimum <= WIDEST_SLIDE;
  if (!canSlide) {
    const isSeed = name === 'seed';
    return (
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <NumberInput
          {...input}
          {...{ id, label, description, withAsterisk, error }}
          flex={1}
          aria-required={required === true}
          {...(isSeed ? { placeholder: texts.fields.noSeed } : {})}
        />
        {isSeed ? (
          <Tooltip label={texts.fields.randomSeed} withinPortal={false}>
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={texts.fields.randomSeed}
              onClick={() => onChange(anotherSeed({ properties: { seed: schema as Schema } }))}
            >
              <IconArrowsShuffle size={16} aria-hidden />
            </ActionIcon>
          </Tooltip>
        ) : null}
      </Group>
    );
  }
  return (
    <Input.Wrapper {...{ id, label, description, withAsterisk, error }}>
      <Group gap="md" mt={4} wrap="nowrap">
        <Slider
          flex={1}
          min={minimum}
          max={maximum}
          step={step}
          disabled={disabled}
          label={null}
          thumbLabel={label}
          value={Math.min(maximum, Math.max(minimum, number ?? minimum))}
          onChange={(next) => onChange(Number(next.toFixed(6)))}
        />
        <NumberInput
          {...input}
          id={id}
          w={96}
          aria-label={texts.fields.otherNumber(label)}
          error={error !== undefined}
        />
      </Group>
    </Input.Wrapper>
  );
}

/** Integers by one, others by a hundredth of their range at most. */
function stepOf({ type, multipleOf, minimum = 0, maximum = 1 }: Schema): number {
  if (multipleOf !== undefined) return multipleOf;
  if (type === 'integer') return 1;
  return 10 ** Math.floor(Math.log10((maximum - minimum) / 10));
}
