/**
 * How everything looks. Colours are those of a darkroom: warm greys, and the red of its safe light for what one acts on.
 * Contrast is that of WCAG AA in both schemes, which `test/web` measures.
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

/** A list of choices scrolls by itself, and not in something around it that one would have to reach. */
const CHOICES = {
  // The keyboard is in the field; a browser would stop at what scrolls, too.
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
    // The library's is the primary colour: a red border says that something is wrong.
    Input: Input.extend({ styles: { wrapper: { '--input-bd-focus': 'var(--mantine-color-text)' } } }),
    // Beside what they belong to, and so within the page's regions. A menu's first item is where the keyboard begins.
    Combobox: Combobox.extend({ defaultProps: { withinPortal: false } }),
    Autocomplete: Autocomplete.extend(CHOICES),
    MultiSelect: MultiSelect.extend(CHOICES),
    Select: Select.extend(CHOICES),
    TagsInput: TagsInput.extend(CHOICES),
    Menu: Menu.extend({ defaultProps: { withinPortal: false, withInitialFocusPlaceholder: false } }),
    Tooltip: Tooltip.extend({ defaultProps: { withinPortal: false } }),
  },
});

/** The library's own greys and reds for what is said beside something are too pale for small letters. */
export const resolveVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-error': colors.red[9],
    '--mantine-color-placeholder': colors.gray[6],
    // “Done”, on its own pale ground.
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
