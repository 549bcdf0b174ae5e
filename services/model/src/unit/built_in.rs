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
    ("energy_consumption", ENERGY_CONSUMPTION),
    ("voltage", VOLTAGE),
    ("current", CURRENT),
    ("charge", CHARGE),
    ("resistance", RESISTANCE),
    ("capacitance", CAPACITANCE),
    ("inductance", INDUCTANCE),
    ("force", FORCE),
    ("torque", TORQUE),
    ("temperature", TEMPERATURE),
    ("pressure", PRESSURE),
    ("airflow", AIRFLOW),
    ("sound_level", SOUND_LEVEL),
    ("luminance", LUMINANCE),
    ("illuminance", ILLUMINANCE),
    ("luminous_flux", LUMINOUS_FLUX),
    ("angle", ANGLE),
    ("pixels", PIXELS),
    ("pixel_density", PIXEL_DENSITY),
    ("ratio", RATIO),
    ("speed", SPEED),
    ("area_density", AREA_DENSITY),
    ("specific_absorption_rate", SPECIFIC_ABSORPTION_RATE),
    ("count", COUNT),
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
    (
        "µm",
        1e-3,
        0.0,
        "um",
        &["micron", "microns", "micrometer", "micrometre"],
    ),
    (
        "cm",
        10.0,
        0.0,
        "",
        &["centimeter", "centimeters", "centimetre", "centimetres"],
    ),
    ("dm", 100.0, 0.0, "", &["decimeter", "decimetre"]),
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
        &["inch", "inches", "\"", "″", "”", "''", "’’", "in.", "Zoll"],
    ),
    ("ft", 304.8, 0.0, "[ft_i]", &["foot", "feet", "′", "ft."]),
    ("yd", 914.4, 0.0, "[yd_i]", &["yard", "yards"]),
    ("mi", 1_609_344.0, 0.0, "[mi_i]", &["mile", "miles"]),
];

const MASS: &[Row] = &[
    ("g", 1.0, 0.0, "", &["gram", "grams", "gramme", "gr"]),
    ("µg", 1e-6, 0.0, "ug", &["mcg", "microgram", "micrograms"]),
    ("mg", 1e-3, 0.0, "", &["milligram", "milligrams"]),
    (
        "kg",
        1e3,
        0.0,
        "",
        &["kilogram", "kilograms", "kilo", "kgs"],
    ),
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
    ("grain", 0.064_798_91, 0.0, "[gr]", &["grains"]),
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
    ("pl", 1e-9, 0.0, "pL", &["picoliter", "picolitre"]),
    ("µl", 1e-3, 0.0, "uL", &["microliter", "microlitre"]),
    ("cl", 10.0, 0.0, "cL", &["centiliter", "centilitre"]),
    ("dl", 100.0, 0.0, "dL", &["deciliter", "decilitre"]),
    (
        "l",
        1e3,
        0.0,
        "L",
        &["liter", "liters", "litre", "litres", "ltr", "dm3", "dm³"],
    ),
    ("hl", 1e5, 0.0, "hL", &["hectoliter", "hectolitre"]),
    (
        "mm³",
        1e-3,
        0.0,
        "mm3",
        &["cubic millimeter", "cubic millimetre"],
    ),
    ("m³", 1e6, 0.0, "m3", &["cubic meter", "cubic metre"]),
    (
        "in³",
        16.387_064,
        0.0,
        "[cin_i]",
        &["cu in", "cubic inch", "cubic inches"],
    ),
    (
        "ft³",
        28_316.846_592,
        0.0,
        "[cft_i]",
        &["cu ft", "cubic foot", "cubic feet"],
    ),
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
    ("dm²", 100.0, 0.0, "dm2", &[]),
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
    ("ha", 1e8, 0.0, "har", &["hectare", "hectares"]),
    (
        "km²",
        1e10,
        0.0,
        "km2",
        &["square kilometer", "square kilometre"],
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
    ("THz", 1e12, 0.0, "", &["terahertz"]),
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
    ("PB", 1e15, 0.0, "PBy", &["petabyte", "petabytes"]),
    ("kbit", 125.0, 0.0, "", &["kilobit"]),
    ("Mbit", 125e3, 0.0, "", &["Mb", "megabit"]),
    ("Gbit", 125e6, 0.0, "", &["Gb", "gigabit"]),
    ("Tbit", 125e9, 0.0, "", &["Tb", "terabit"]),
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
    ("Tbit/s", 1e12, 0.0, "", &["Tbps", "Tb/s"]),
    ("kB/s", 8e3, 0.0, "kBy/s", &["KB/s", "kBps", "KBps"]),
    ("MB/s", 8e6, 0.0, "MBy/s", &["MBps"]),
    ("GB/s", 8e9, 0.0, "GBy/s", &["GBps"]),
];

const POWER: &[Row] = &[
    ("W", 1.0, 0.0, "", &["watt", "watts"]),
    ("µW", 1e-6, 0.0, "uW", &["microwatt"]),
    ("mW", 1e-3, 0.0, "", &["milliwatt", "milliwatts"]),
    ("kW", 1e3, 0.0, "", &["kilowatt", "kilowatts"]),
    ("MW", 1e6, 0.0, "", &["megawatt", "megawatts"]),
    ("GW", 1e9, 0.0, "", &["gigawatt", "gigawatts"]),
    ("hp", 745.699_871_582_270_2, 0.0, "[HP]", &["horsepower"]),
    // 75 kp m/s.
    ("PS", 735.498_75, 0.0, "", &["metric horsepower"]),
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
    (
        "MVA",
        1e6,
        0.0,
        "MV.A",
        &["megavolt-ampere", "megavolt-amperes"],
    ),
];

const ENERGY: &[Row] = &[
    ("J", 1.0, 0.0, "", &["joule", "joules"]),
    ("mJ", 1e-3, 0.0, "", &["millijoule", "millijoules"]),
    ("kJ", 1e3, 0.0, "", &["kilojoule", "kilojoules"]),
    ("MJ", 1e6, 0.0, "", &["megajoule", "megajoules"]),
    ("cal", 4.184, 0.0, "cal_th", &["calorie", "calories"]),
    (
        "kcal",
        4184.0,
        0.0,
        "kcal_th",
        &["kilocalorie", "kilocalories", "Cal", "Calorie", "Calories"],
    ),
    ("Wh", 3600.0, 0.0, "W.h", &["watt hour", "watt hours"]),
    (
        "kWh",
        3.6e6,
        0.0,
        "kW.h",
        &["kilowatt hour", "kilowatt hours"],
    ),
    (
        "mWh",
        3.6,
        0.0,
        "mW.h",
        &["milliwatt hour", "milliwatt hours"],
    ),
    (
        "MWh",
        3.6e9,
        0.0,
        "MW.h",
        &["megawatt hour", "megawatt hours"],
    ),
];

/// What labels of energy state: lamps and screens per 1,000 hours, refrigerators per year.
const ENERGY_CONSUMPTION: &[Row] = &[
    ("kWh/1000 h", 1.0, 0.0, "", &["kWh/1000h"]),
    // A year has 8,766 hours, as the unit `yr`.
    (
        "kWh/yr",
        1e3 / 8766.0,
        0.0,
        "kW.h/a",
        &["kWh/a", "kWh/year", "kWh/annum"],
    ),
];

const VOLTAGE: &[Row] = &[
    ("V", 1.0, 0.0, "", &["volt", "volts"]),
    ("µV", 1e-6, 0.0, "uV", &["microvolt", "microvolts"]),
    ("mV", 1e-3, 0.0, "", &["millivolt", "millivolts"]),
    ("kV", 1e3, 0.0, "", &["kilovolt", "kilovolts"]),
];

const CURRENT: &[Row] = &[
    ("A", 1.0, 0.0, "", &["amp", "amps", "ampere"]),
    ("µA", 1e-6, 0.0, "uA", &["microamp", "microampere"]),
    ("mA", 1e-3, 0.0, "", &["milliamp", "milliampere"]),
    ("kA", 1e3, 0.0, "", &["kiloampere"]),
];

const RESISTANCE: &[Row] = &[
    ("Ω", 1.0, 0.0, "Ohm", &["ohm", "ohms"]),
    ("mΩ", 1e-3, 0.0, "mOhm", &["mohm", "milliohm", "milliohms"]),
    ("kΩ", 1e3, 0.0, "kOhm", &["kohm", "kiloohm", "kilohm"]),
    ("MΩ", 1e6, 0.0, "MOhm", &["Mohm", "megaohm", "megohm"]),
];

/// `F` is the farad here. Fahrenheit is `°F`.
const CAPACITANCE: &[Row] = &[
    ("µF", 1.0, 0.0, "uF", &["microfarad", "microfarads"]),
    ("pF", 1e-6, 0.0, "", &["picofarad", "picofarads"]),
    ("nF", 1e-3, 0.0, "", &["nanofarad", "nanofarads"]),
    ("mF", 1e3, 0.0, "", &["millifarad", "millifarads"]),
    ("F", 1e6, 0.0, "", &["farad", "farads"]),
];

const INDUCTANCE: &[Row] = &[
    ("mH", 1.0, 0.0, "", &["millihenry"]),
    ("nH", 1e-6, 0.0, "", &["nanohenry"]),
    ("µH", 1e-3, 0.0, "uH", &["microhenry"]),
    ("H", 1e3, 0.0, "", &["henry"]),
];

const FORCE: &[Row] = &[
    ("N", 1.0, 0.0, "", &["newton", "newtons"]),
    ("mN", 1e-3, 0.0, "", &["millinewton"]),
    ("kN", 1e3, 0.0, "", &["kilonewton", "kilonewtons"]),
];

const TORQUE: &[Row] = &[
    (
        "Nm",
        1.0,
        0.0,
        "N.m",
        &[
            "N m",
            "N·m",
            "N*m",
            "newton meter",
            "newton metre",
            "newton metres",
            "Newtonmeter",
        ],
    ),
    ("mNm", 1e-3, 0.0, "mN.m", &["mN m", "mN·m"]),
    ("Ncm", 0.01, 0.0, "N.cm", &["N cm", "N·cm"]),
    ("kNm", 1e3, 0.0, "kN.m", &["kN m", "kN·m"]),
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
    (
        "°C",
        1.0,
        0.0,
        "Cel",
        &["C", "celsius", "degC", "ºC", "˚C", "° C", "deg C"],
    ),
    ("K", 1.0, -273.15, "", &["kelvin"]),
    (
        "°F",
        5.0 / 9.0,
        -160.0 / 9.0,
        "[degF]",
        &["fahrenheit", "degF", "ºF", "˚F", "° F", "deg F"],
    ),
];

const PRESSURE: &[Row] = &[
    ("Pa", 1.0, 0.0, "", &["pascal"]),
    ("hPa", 100.0, 0.0, "", &["mbar", "millibar"]),
    ("mPa", 1e-3, 0.0, "", &["millipascal"]),
    ("kPa", 1e3, 0.0, "", &["kilopascal"]),
    ("MPa", 1e6, 0.0, "", &["megapascal"]),
    ("bar", 1e5, 0.0, "", &["bars"]),
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
    (
        "l/h",
        1e-3,
        0.0,
        "L/h",
        &["liters per hour", "litres per hour"],
    ),
    ("l/min", 0.06, 0.0, "L/min", &["lpm"]),
    ("l/s", 3.6, 0.0, "L/s", &[]),
];

const SOUND_LEVEL: &[Row] = &[("dB", 1.0, 0.0, "", &["dBA", "dB(A)", "decibel", "decibels"])];
const LUMINANCE: &[Row] = &[("nit", 1.0, 0.0, "cd/m2", &["nits", "cd/m²"])];
const ILLUMINANCE: &[Row] = &[
    ("lx", 1.0, 0.0, "", &["lux"]),
    ("klx", 1e3, 0.0, "", &["kilolux"]),
];
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

/// The weight of paper and cloth.
const AREA_DENSITY: &[Row] = &[
    ("g/m²", 1.0, 0.0, "g/m2", &["gsm", "g/qm"]),
    ("kg/m²", 1e3, 0.0, "kg/m2", &[]),
];

/// The power of a radio that a body absorbs.
const SPECIFIC_ABSORPTION_RATE: &[Row] = &[("W/kg", 1.0, 0.0, "", &["mW/g"])];

const COUNT: &[Row] = &[
    (
        "pcs",
        1.0,
        0.0,
        "{pcs}",
        &[
            "pc", "pcs.", "piece", "pieces", "Stück", "Stk", "Stk.", "ea", "each",
        ],
    ),
    ("pair", 2.0, 0.0, "{pair}", &["pairs"]),
    ("dozen", 12.0, 0.0, "{dozen}", &[]),
];

#[cfg(test)]
mod tests {
    use crate::unit::UnitTable;

    /// One of these units in the second unit. Factors are those of NIST Special Publication 811, of the
    /// international yard and pound, and the definitions of the German unit law (PS).
    #[test]
    fn units_have_the_factors_of_their_definitions() {
        let table = UnitTable::built_in();
        for (from, to, factor) in [
            ("PS", "W", 735.498_75),
            ("hp", "W", 745.699_871_582_270_2),
            ("MW", "kW", 1e3),
            ("kNm", "Nm", 1e3),
            ("Ncm", "Nm", 0.01),
            ("kN", "N", 1e3),
            ("MΩ", "kΩ", 1e3),
            ("F", "µF", 1e6),
            ("nF", "pF", 1e3),
            ("mF", "µF", 1e3),
            ("H", "mH", 1e3),
            ("µH", "nH", 1e3),
            ("klx", "lx", 1e3),
            ("m³/h", "l/h", 1e3),
            ("l/min", "l/h", 60.0),
            ("l/s", "l/min", 60.0),
            ("MPa", "bar", 10.0),
            ("Pa", "mPa", 1e3),
            ("MWh", "kWh", 1e3),
            ("MJ", "kWh", 1.0 / 3.6),
            ("kWh/1000 h", "kWh/yr", 8.766),
            ("kg/m²", "g/m²", 1e3),
            ("grain", "mg", 64.798_91),
            ("µg", "mg", 1e-3),
            ("mi", "km", 1.609_344),
            ("in³", "ml", 16.387_064),
            ("ft³", "l", 28.316_846_592),
            ("ha", "m²", 1e4),
            ("km²", "ha", 100.0),
            ("hl", "l", 100.0),
            ("mm³", "µl", 1.0),
            ("kB/s", "kbit/s", 8.0),
            ("TB", "Tbit", 8.0),
            ("PB", "TB", 1e3),
            ("dozen", "pcs", 12.0),
            ("pair", "pcs", 2.0),
        ] {
            let unit = table.get(from).unwrap();
            let to = table.get_in(to, &unit.dimension).unwrap();
            let converted = to.from_base(unit.to_base(1.0));
            assert!(
                (converted / factor - 1.0).abs() < 1e-12,
                "1 {from} = {converted} {}",
                to.id
            );
        }
    }

    #[test]
    fn spellings_of_shops_and_keyboards_are_known() {
        let table = UnitTable::built_in();
        for (spelling, expected) in [
            ("Zoll", "in"),
            ("''", "in"),
            ("”", "in"),
            ("″", "in"),
            ("kgs", "kg"),
            ("gr", "g"),
            ("℃", "°C"),
            ("ºC", "°C"),
            ("℉", "°F"),
            ("Stück", "pcs"),
            ("Stk.", "pcs"),
            ("pcs", "pcs"),
            ("EA", "pcs"),
            ("lux", "lx"),
            ("Ω", "Ω"),
            ("\u{2126}", "Ω"),
            ("k\u{2126}", "kΩ"),
            ("kOhm", "kΩ"),
            ("uF", "µF"),
            ("μF", "µF"),
            ("kWh/1000h", "kWh/1000 h"),
            ("kWh/a", "kWh/yr"),
            ("g/m2", "g/m²"),
            ("L/h", "l/h"),
            ("m3/h", "m³/h"),
            ("W/kg", "W/kg"),
            ("N.m", "Nm"),
            ("newton metre", "Nm"),
        ] {
            assert_eq!(
                table.find(spelling).map(|unit| unit.id.as_str()),
                Some(expected),
                "{spelling}"
            );
        }
    }
}
