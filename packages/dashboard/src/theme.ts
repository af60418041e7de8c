/**
 * The look of the dashboard. Its colours are those of a darkroom: warm greys, and the red of its safelight for
 * controls. Contrast meets WCAG AA in both schemes, which `test/web` measures.
 */
import {
  Autocomplete,
  Combobox,
  Input,
  Menu,
  MultiSelect,
  Select,
  TagsInput,
  Tooltip,
  createTheme,
} from '@mantine/core';
import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core';

const safelight: MantineColorsTuple = [
  '#fff0ef',
  '#fbdedc',
  '#f2bbb7',
  '#e9958f',
  '#e2756d',
  '#dd6057',
  '#d4493f',
  '#b93329',
  '#9f2a22',
  '#84201a',
];

/** A list of choices scrolls itself, and not in a surrounding element that would need the focus. */
const CHOICES = {
  // The focus is in the field; a browser would also make a scrolling element a tab stop.
  defaultProps: { withScrollArea: false, attributes: { options: { tabIndex: -1 } } },
  styles: { options: { maxHeight: '16rem', overflowY: 'auto' } },
} as const;

export const theme = createTheme({
  primaryColor: 'safelight',
  primaryShade: 7,
  colors: { safelight },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  autoContrast: true,
  components: {
    // The library uses the primary colour: here a red border means an error.
    Input: Input.extend({ styles: { wrapper: { '--input-bd-focus': 'var(--mantine-color-text)' } } }),
    // Next to the elements to which they belong, and so within the page's regions. The focus begins at a menu's first
    // item.
    Combobox: Combobox.extend({ defaultProps: { withinPortal: false } }),
    Autocomplete: Autocomplete.extend(CHOICES),
    MultiSelect: MultiSelect.extend(CHOICES),
    Select: Select.extend(CHOICES),
    TagsInput: TagsInput.extend(CHOICES),
    Menu: Menu.extend({ defaultProps: { withinPortal: false, withInitialFocusPlaceholder: false } }),
    Tooltip: Tooltip.extend({ defaultProps: { withinPortal: false } }),
  },
});

/** The library's own greys and reds for secondary text are too pale for small letters. */
export const resolveVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-error': colors.red[9],
    '--mantine-color-placeholder': colors.gray[6],
    // “Done”, on its own pale background.
    '--mantine-color-teal-light-color': '#066649',
    '--mantine-color-orange-light-color': '#8a3a00',
    '--mantine-color-yellow-light-color': '#6b4a00',
  },
  dark: {
    '--mantine-color-dimmed': colors.dark[1],
    '--mantine-color-error': colors.red[4],
    '--mantine-color-placeholder': colors.dark[2],
  },
});
