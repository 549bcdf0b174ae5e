//! The built-in units, with which every new database starts.

use super::Unit;

/// `(id, factor, offset, UCUM code, other spellings)`; the code is empty if it equals the id, or if
/// UCUM has none.
type Row = (
    &'static str,
    f64,
    f64,
    &'static str,
    &'static [&'static str],
);

/// All built-in units, base unit first in each dimension.
pub(super) fn units() -> Vec<Unit> {
    DIMENSIONS
        .iter()
        .flat_map(|(dimension, rows)| rows.iter().map(|row| unit(dimension, row)))
        .collect()
}

fn unit(dimension: &str, (id, factor, offset, ucum, aliases): &Row) -> Unit {
    Unit {
        id: (*id).to_owned(),
        dimension: dimension.to_owned(),
        factor: *factor,
        offset: *offset,
        ucum: (!ucum.is_empty()).then(|| (*ucum).to_owned()),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
    }
}

const DIMENSIONS: &[(&str, &[Row])] = &[
    ("length", LENGTH),
    ("mass", MASS),
    ("volume", VOLUME),
    ("area", AREA),
    ("time", TIME),
    ("frequency", FREQUENCY),
    ("frame_rate", FRAME_RATE),
    ("rotation", ROTATION),
    ("information", INFORMATION),
    ("data_rate", DATA_RATE),
    ("power", POWER),
    ("apparent_power", APPARENT_POWER),
    ("energy", ENERGY),
    ("voltage", VOLTAGE),
    ("current", CURRENT),
    ("charge", CHARGE),
    ("temperature", TEMPERATURE),
    ("pressure", PRESSURE),
    ("airflow", AIRFLOW),
    ("sound_level", SOUND_LEVEL),
    ("luminance", LUMINANCE),
    ("luminous_flux", LUMINOUS_FLUX),
    ("angle", ANGLE),
    ("pixels", PIXELS),
    ("pixel_density", PIXEL_DENSITY),
    ("ratio", RATIO),
    ("speed", SPEED),
];

const LENGTH: &[Row] = &[
    (
        "mm",
        1.0,
        0.0,
        "",
        &["millimeter", "millimeters", "millimetre", "millimetres"],
    ),
    ("nm", 1e-6, 0.0, "", &["nanometer", "nanometre"]),
    ("µm", 1e-3, 0.0, "um", &["micron", "microns"]),
    (
        "cm",
        10.0,
        0.0,
        "",
        &["centimeter", "centimeters", "centimetre", "centimetres"],
    ),
    ("m", 1e3, 0.0, "", &["meter", "meters", "metre", "metres"]),
    (
        "km",
        1e6,
        0.0,
        "",
        &["kilometer", "kilometers", "kilometre", "kilometres"],
    ),
    (
        "in",
        25.4,
        0.0,
        "[in_i]",
        &["inch", "inches", "\"", "″", "in."],
    ),
    ("ft", 304.8, 0.0, "[ft_i]", &["foot", "feet", "′", "ft."]),
    ("yd", 914.4, 0.0, "[yd_i]", &["yard", "yards"]),
];

const MASS: &[Row] = &[
    ("g", 1.0, 0.0, "", &["gram", "grams", "gramme"]),
    ("mg", 1e-3, 0.0, "", &["milligram", "milligrams"]),
    ("kg", 1e3, 0.0, "", &["kilogram", "kilograms", "kilo"]),
    ("t", 1e6, 0.0, "", &["tonne", "tonnes"]),
    (
        "oz",
        28.349_523_125,
        0.0,
        "[oz_av]",
        &["ounce", "ounces", "oz."],
    ),
    (
        "lb",
        453.592_37,
        0.0,
        "[lb_av]",
        &["lbs", "pound", "pounds", "lb."],
    ),
];

const VOLUME: &[Row] = &[
    (
        "ml",
        1.0,
        0.0,
        "mL",
        &[
            "milliliter",
            "milliliters",
            "millilitre",
            "cc",
            "cm3",
            "cm³",
        ],
    ),
    ("cl", 10.0, 0.0, "cL", &["centiliter", "centilitre"]),
    ("dl", 100.0, 0.0, "dL", &["deciliter", "decilitre"]),
    (
        "l",
        1e3,
        0.0,
        "L",
        &["liter", "liters", "litre", "litres", "ltr", "dm3"],
    ),
    ("m³", 1e6, 0.0, "m3", &["cubic meter", "cubic metre"]),
    (
        "fl oz",
        29.573_529_562_5,
        0.0,
        "[foz_us]",
        &["floz", "fl. oz.", "fl.oz.", "fluid ounce", "fluid ounces"],
    ),
    ("cup", 236.588_236_5, 0.0, "[cup_us]", &["cups"]),
    ("pt", 473.176_473, 0.0, "[pt_us]", &["pint", "pints"]),
    ("qt", 946.352_946, 0.0, "[qt_us]", &["quart", "quarts"]),
    (
        "gal",
        3_785.411_784,
        0.0,
        "[gal_us]",
        &["gallon", "gallons"],
    ),
];

const AREA: &[Row] = &[
    (
        "cm²",
        1.0,
        0.0,
        "cm2",
        &["square centimeter", "square centimetre"],
    ),
    ("mm²", 0.01, 0.0, "mm2", &[]),
    (
        "m²",
        1e4,
        0.0,
        "m2",
        &["sqm", "square meter", "square metre"],
    ),
    ("in²", 6.4516, 0.0, "[sin_i]", &["sq in", "square inch"]),
    (
        "ft²",
        929.0304,
        0.0,
        "[sft_i]",
        &["sq ft", "square foot", "square feet"],
    ),
];

const TIME: &[Row] = &[
    ("s", 1.0, 0.0, "", &["sec", "second", "seconds"]),
    ("ms", 1e-3, 0.0, "", &["millisecond", "milliseconds"]),
    ("µs", 1e-6, 0.0, "us", &["microsecond", "microseconds"]),
    ("ns", 1e-9, 0.0, "", &["nanosecond", "nanoseconds"]),
    ("min", 60.0, 0.0, "", &["minute", "minutes", "mins"]),
    ("h", 3600.0, 0.0, "", &["hr", "hrs", "hour", "hours"]),
    ("d", 86_400.0, 0.0, "", &["day", "days"]),
    ("wk", 604_800.0, 0.0, "", &["week", "weeks"]),
    ("mo", 2_629_800.0, 0.0, "", &["month", "months"]),
    ("yr", 31_557_600.0, 0.0, "a", &["year", "years"]),
];

const FREQUENCY: &[Row] = &[
    ("Hz", 1.0, 0.0, "", &["hertz"]),
    ("kHz", 1e3, 0.0, "", &["kilohertz"]),
    ("MHz", 1e6, 0.0, "", &["megahertz"]),
    ("GHz", 1e9, 0.0, "", &["gigahertz"]),
];

/// Frames are no oscillations: 60 fps are not found by 60 Hz.
const FRAME_RATE: &[Row] = &[(
    "fps",
    1.0,
    0.0,
    "",
    &["frames/s", "frames per second", "frame/s"],
)];

const ROTATION: &[Row] = &[("RPM", 1.0, 0.0, "{rpm}", &["rev/min", "1/min", "r/min"])];

const INFORMATION: &[Row] = &[
    ("B", 1.0, 0.0, "By", &["byte", "bytes"]),
    ("bit", 0.125, 0.0, "", &["bits"]),
    ("kB", 1e3, 0.0, "kBy", &["KB", "kilobyte", "kilobytes"]),
    ("MB", 1e6, 0.0, "MBy", &["megabyte", "megabytes"]),
    ("GB", 1e9, 0.0, "GBy", &["gigabyte", "gigabytes"]),
    ("TB", 1e12, 0.0, "TBy", &["terabyte", "terabytes"]),
    ("kbit", 125.0, 0.0, "", &["kilobit"]),
    ("Mbit", 125e3, 0.0, "", &["Mb", "megabit"]),
    ("Gbit", 125e6, 0.0, "", &["Gb", "gigabit"]),
    ("KiB", 1024.0, 0.0, "KiBy", &["kibibyte"]),
    ("MiB", 1_048_576.0, 0.0, "MiBy", &["mebibyte"]),
    ("GiB", 1_073_741_824.0, 0.0, "GiBy", &["gibibyte"]),
    ("TiB", 1_099_511_627_776.0, 0.0, "TiBy", &["tebibyte"]),
];

const DATA_RATE: &[Row] = &[
    ("bit/s", 1.0, 0.0, "", &["bps"]),
    ("kbit/s", 1e3, 0.0, "", &["kbps", "kb/s"]),
    ("Mbit/s", 1e6, 0.0, "", &["Mbps", "Mb/s"]),
    ("Gbit/s", 1e9, 0.0, "", &["Gbps", "Gb/s"]),
    ("MB/s", 8e6, 0.0, "MBy/s", &["MBps"]),
    ("GB/s", 8e9, 0.0, "GBy/s", &["GBps"]),
];

const POWER: &[Row] = &[
    ("W", 1.0, 0.0, "", &["watt", "watts"]),
    ("mW", 1e-3, 0.0, "", &["milliwatt"]),
    ("kW", 1e3, 0.0, "", &["kilowatt"]),
    ("hp", 745.699_871_582_270_2, 0.0, "[HP]", &["horsepower"]),
];

/// Watts measure what is used, volt-amperes what the wires carry.
const APPARENT_POWER: &[Row] = &[
    (
        "VA",
        1.0,
        0.0,
        "V.A",
        &["volt-ampere", "volt-amperes", "volt ampere"],
    ),
    (
        "kVA",
        1e3,
        0.0,
        "kV.A",
        &["kilovolt-ampere", "kilovolt-amperes"],
    ),
];

const ENERGY: &[Row] = &[
    ("J", 1.0, 0.0, "", &["joule", "joules"]),
    ("kJ", 1e3, 0.0, "", &["kilojoule", "kilojoules"]),
    ("cal", 4.184, 0.0, "cal_th", &["calorie"]),
    (
        "kcal",
        4184.0,
        0.0,
        "kcal_th",
        &["kilocalorie", "kilocalories"],
    ),
    ("Wh", 3600.0, 0.0, "W.h", &["watt hour", "watt hours"]),
    (
        "kWh",
        3.6e6,
        0.0,
        "kW.h",
        &["kilowatt hour", "kilowatt hours"],
    ),
];

const VOLTAGE: &[Row] = &[
    ("V", 1.0, 0.0, "", &["volt", "volts"]),
    ("mV", 1e-3, 0.0, "", &["millivolt"]),
    ("kV", 1e3, 0.0, "", &["kilovolt"]),
];

const CURRENT: &[Row] = &[
    ("A", 1.0, 0.0, "", &["amp", "amps", "ampere"]),
    ("mA", 1e-3, 0.0, "", &["milliamp", "milliampere"]),
];

const CHARGE: &[Row] = &[
    (
        "mAh",
        1.0,
        0.0,
        "mA.h",
        &["milliamp hour", "milliampere hour"],
    ),
    ("Ah", 1e3, 0.0, "A.h", &["amp hour", "ampere hour"]),
];

const TEMPERATURE: &[Row] = &[
    ("°C", 1.0, 0.0, "Cel", &["C", "celsius", "degC"]),
    ("K", 1.0, -273.15, "", &["kelvin"]),
    (
        "°F",
        5.0 / 9.0,
        -160.0 / 9.0,
        "[degF]",
        &["F", "fahrenheit", "degF"],
    ),
];

const PRESSURE: &[Row] = &[
    ("Pa", 1.0, 0.0, "", &["pascal"]),
    ("hPa", 100.0, 0.0, "", &["mbar", "millibar"]),
    ("kPa", 1e3, 0.0, "", &["kilopascal"]),
    ("bar", 1e5, 0.0, "", &[]),
    ("psi", 6_894.757_293_168_361, 0.0, "[psi]", &[]),
    ("mmH2O", 9.806_65, 0.0, "mm[H2O]", &["mmH₂O", "mm H2O"]),
];

const AIRFLOW: &[Row] = &[
    (
        "m³/h",
        1.0,
        0.0,
        "m3/h",
        &["cubic meters per hour", "cubic metres per hour"],
    ),
    (
        "CFM",
        1.699_010_795_520,
        0.0,
        "[cft_i]/min",
        &["ft³/min", "cubic feet per minute"],
    ),
    ("l/min", 0.06, 0.0, "L/min", &["lpm"]),
];

const SOUND_LEVEL: &[Row] = &[("dB", 1.0, 0.0, "", &["dBA", "dB(A)", "decibel", "decibels"])];
const LUMINANCE: &[Row] = &[("nit", 1.0, 0.0, "cd/m2", &["nits", "cd/m²"])];
const LUMINOUS_FLUX: &[Row] = &[("lm", 1.0, 0.0, "", &["lumen", "lumens"])];

const ANGLE: &[Row] = &[
    ("°", 1.0, 0.0, "deg", &["degree", "degrees"]),
    (
        "rad",
        57.295_779_513_082_32,
        0.0,
        "",
        &["radian", "radians"],
    ),
];

const PIXELS: &[Row] = &[
    ("px", 1.0, 0.0, "", &["pixel", "pixels"]),
    ("MP", 1e6, 0.0, "", &["megapixel", "megapixels", "Mpx"]),
];

const PIXEL_DENSITY: &[Row] = &[("DPI", 1.0, 0.0, "", &["ppi", "dots per inch"])];

const RATIO: &[Row] = &[
    ("%", 1.0, 0.0, "", &["percent", "pct", "% vol", "vol%"]),
    ("‰", 0.1, 0.0, "[ppth]", &["permille"]),
];

const SPEED: &[Row] = &[
    ("km/h", 1.0, 0.0, "", &["kph", "kmh"]),
    ("m/s", 3.6, 0.0, "", &[]),
    ("mph", 1.609_344, 0.0, "[mi_i]/h", &["mi/h"]),
];
