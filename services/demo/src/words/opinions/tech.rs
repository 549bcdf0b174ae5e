//! On devices.

use super::aspect;
use crate::leaf::{Aspect, Tongue, Voice};

const SUPPORT: Aspect = aspect(
    &[
        "Support answered within a day and knew what they were talking about.",
        "Set up in five minutes.",
        "No account, no app, no nonsense.",
        "Well packed, and hardly any plastic.",
    ],
    &[
        "Support has not answered in three weeks.",
        "The app wants an account, my location and my patience.",
        "The manual is a riddle.",
        "It arrived with a scratch.",
    ],
);
const BATTERY: Aspect = aspect(
    &[
        "The battery really lasts {battery_life}.",
        "I charge {them} once a week.{?battery_life}",
        "{?charging_time}Full again after {charging_time}, as promised.",
        "{?battery_life}Took {them} on a long trip and left the charger at home.",
    ],
    &[
        "{battery_life}? In my hands it is half of that.",
        "{?battery_life}The battery was empty just when I needed {them}.",
        "{?charging_time}Charging takes for ever.",
    ],
);

/// On headphones, speakers, turntables.
pub(crate) const SOUND: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "The sound is clear, with a bass that never booms.",
                "I hear details in old records that I never noticed.",
                "Warm, open sound; voices are right in front of you.",
                "The stage is wide and the highs do not hiss.",
                "For this price the sound is a small miracle.",
                "Even at low volume nothing is missing.",
            ],
            &[
                "The sound is muddy, as if from behind a curtain.",
                "Too much bass, and no way to turn it down.",
                "The highs are so sharp that I get tired after an hour.",
                "It rattles at higher volumes.",
            ],
        ),
        aspect(
            &[
                "{+noise_cancelling}The noise cancelling makes the train disappear.",
                "{+noise_cancelling}Noise cancelling without that pressure on the ears.",
                "{+noise_cancelling}I finally get work done in the open-plan office.",
                "{+noise_cancelling}The neighbour's lawnmower: gone.",
            ],
            &[
                "{+noise_cancelling}The noise cancelling hisses in quiet rooms.",
                "{+noise_cancelling}Voices come through as if nothing was switched on.",
                "{+noise_cancelling}In wind the noise cancelling howls.",
            ],
        ),
        BATTERY,
        aspect(
            &[
                "{?wearing_style}I wear them for hours and forget them.",
                "{?wearing_style}They sit firmly without pinching, also with glasses.",
                "{wearing_style=Over-ear}The pads are soft and large enough for my ears.",
                "{wearing_style=In-ear}The smallest tips finally fit my ears.",
            ],
            &[
                "{?wearing_style}They press after an hour, glasses make it worse.",
                "{?wearing_style}My ears get hot.",
                "{wearing_style=In-ear}They fall out when I run.",
                "{wearing_style=Over-ear}The headband squeaks when I turn my head.",
            ],
        ),
        aspect(
            &[
                "{?connectivity}Connects before I have sat down.",
                "{+multipoint}Switching between phone and laptop simply works.",
                "{?codecs}No delay in films.",
                "The controls can be found without looking.",
            ],
            &[
                "{?connectivity}The connection drops whenever I leave the room.",
                "{+multipoint}Being connected to two devices confuses {them} completely.",
                "{?bluetooth_version}The touch controls react to everything but my finger.",
                "{?bluetooth_version}The voice announcements cannot be switched off.",
            ],
        ),
        aspect(
            &[
                "{?microphones}On calls everybody understands me, even in the street.",
                "{?microphones}The microphones are good enough for work.",
                "The workmanship is excellent: nothing creaks.",
                "In {color} {it} look{s} like much more money.",
            ],
            &[
                "{?microphones}On calls I sound as if from a bucket.",
                "A hinge broke after {time}.{+foldable}",
                "The plastic creaks and feels cheap.",
                "The {color} wears off at the edges.",
            ],
        ),
        aspect(
            &[
                "{+phono_preamp}The built-in preamp saved me a box.",
                "{?drive_type}Runs quietly and keeps its speed.",
                "{speaker_type=Portable}Came along to the lake and survived the sand.",
                "{+stereo_pairing}Two of them as a pair are terrific.",
                "{+foldable}Folded up they fit into my coat pocket.",
                "{+spatial_audio}Films with spatial audio are great fun.",
            ],
            &[
                "{?drive_type}You hear the motor between the songs.",
                "{+stereo_pairing}Pairing two of them took an evening.",
                "{?cable_length}The cable is too short for my desk.",
                "{+spatial_audio}Spatial audio is a gimmick that makes everything worse.",
            ],
        ),
        SUPPORT,
    ],
    titles: [
        &[
            "Great sound",
            "{+noise_cancelling}Silence at last",
            "{?battery_life}Battery for days",
            "Fantastic for the price",
            "{?wearing_style}Very comfortable",
            "Best in years",
            "Clear and warm",
            "A joy to listen to",
            "Everything I hear is new",
        ],
        &[
            "Muddy sound",
            "{?connectivity}Connection drops",
            "Broke too soon",
            "{?wearing_style}Uncomfortable",
            "Hisses",
            "{?microphones}Poor for calls",
            "{?battery_life}Battery disappoints",
        ],
    ],
    german: Tongue {
        good: &[
            "Der Klang ist klar und ausgewogen.",
            "{?battery_life}Der Akku hält wirklich so lange wie angegeben.",
            "{?connectivity}Verbindung steht sofort und bricht nie ab.",
            "Sehr gut verarbeitet, nichts knarzt.",
            "Auch leise klingt alles vollständig.",
            "Die Bedienung ist kinderleicht.",
        ],
        bad: &[
            "Der Klang ist dumpf.",
            "{?connectivity}Die Verbindung bricht ständig ab.",
            "{?battery_life}Der Akku ist schon nach einem Tag leer.",
            "Wirkt billig verarbeitet.",
        ],
    },
    french: Tongue {
        good: &[
            "Le son est clair et équilibré.",
            "{?battery_life}L'autonomie est excellente.",
            "{?connectivity}La connexion est immédiate.",
            "Très bonne finition.",
        ],
        bad: &[
            "Le son est étouffé.",
            "{?connectivity}La connexion se coupe sans arrêt.",
            "{?battery_life}L'autonomie est décevante.",
        ],
    },
};

/// On televisions and projectors.
pub(crate) const SCREENS: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "The picture is superb, black is black.",
                "Colours look natural right out of the box.",
                "Football without smearing.",
                "{brightness} are enough even with the curtains open.",
            ],
            &[
                "Grey stripes in dark scenes.",
                "The colours need an hour of tuning.",
                "Blurs as soon as something moves.",
                "Too dim in daylight.",
            ],
        ),
        aspect(
            &[
                "The sound is better than it has any right to be.",
                "I have not missed a soundbar.",
            ],
            &[
                "The sound is thin; plan for a soundbar.",
                "The speakers rattle.",
            ],
        ),
        aspect(
            &[
                "The menu is fast and tidy.",
                "{=smart_platform} has all I need and no advertising.",
                "Channel search took four minutes.",
            ],
            &[
                "{=smart_platform} is slow and full of tiles I cannot remove.",
                "It restarts on its own once a week.",
                "The remote has forty buttons, none of them lit.",
            ],
        ),
        aspect(
            &[
                "{hdmi_ports} HDMI ports are exactly enough for us.",
                "The stand is sturdy and up in ten minutes.",
                "{?noise_level}The fan can hardly be heard.",
            ],
            &[
                "{hdmi_ports} HDMI ports are not enough.",
                "The stand wobbles.",
                "{?noise_level}The fan is louder than the quiet scenes.",
            ],
        ),
        SUPPORT,
    ],
    titles: [
        &[
            "Brilliant picture",
            "Cinema at home",
            "Great value",
            "Easy to set up",
        ],
        &[
            "Slow menu",
            "Poor sound",
            "Pixel error on day one",
            "Stripes in dark scenes",
        ],
    ],
    german: Tongue {
        good: &[
            "Das Bild ist gestochen scharf.",
            "Einrichtung in zehn Minuten erledigt.",
            "Das Menü reagiert schnell.",
        ],
        bad: &[
            "Der Ton ist sehr dünn.",
            "Das Menü ist quälend langsam.",
            "Streifen in dunklen Szenen.",
        ],
    },
    french: Tongue {
        good: &["Une image superbe.", "Installation très simple."],
        bad: &["Le son est faible.", "Le menu est lent."],
    },
};

/// On cameras and lenses.
pub(crate) const CAMERAS: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "The pictures are sharp into the corners.",
                "Beautiful colours straight out of the camera.",
                "At {=aperture_max} the background melts away.",
                "Low light is no problem.",
            ],
            &[
                "Soft at the edges.",
                "Noise as soon as the sun goes down.",
                "Violet fringes on every branch.",
            ],
        ),
        aspect(
            &[
                "The autofocus finds eyes, also those of dogs.",
                "Focus is fast and silent.",
                "{?burst_rate}{burst_rate} pictures a second caught the jump.",
            ],
            &[
                "The autofocus hunts and then gives up.",
                "Focuses on the fence, never on the child.",
            ],
        ),
        aspect(
            &[
                "Lies well in the hand.",
                "Metal where others use plastic.",
                "{+weather_sealed}Has been through rain and a sandstorm.",
                "{?weight}At {weight} it comes along everywhere.",
            ],
            &[
                "The grip is made for smaller hands.",
                "A dial came loose after {time}.",
                "{?weight}{weight} are a lot at the end of a day.",
            ],
        ),
        aspect(
            &[
                "{+image_stabilisation}The stabiliser is worth two tripods.",
                "{?video_resolution}Video in {=video_resolution} looks like cinema.",
                "{?waterproof_depth}I took it down to ten metres without a worry.",
            ],
            &[
                "{+image_stabilisation}I see no difference with the stabiliser on.",
                "{?video_resolution}It overheats after twenty minutes of video.",
            ],
        ),
        aspect(
            &["The menus can be learnt in one evening."],
            &[
                "The menus are a labyrinth.",
                "The battery needs a twin in your pocket.",
            ],
        ),
        SUPPORT,
    ],
    titles: [
        &[
            "Razor sharp",
            "A joy to use",
            "Wonderful colours",
            "My travel companion",
            "Fast focus",
        ],
        &["Soft corners", "Slow focus", "Too heavy", "Menus from hell"],
    ],
    german: Tongue {
        good: &[
            "Gestochen scharfe Bilder.",
            "Liegt sehr gut in der Hand.",
            "Der Autofokus ist schnell und leise.",
        ],
        bad: &[
            "Am Rand unscharf.",
            "Der Autofokus pumpt.",
            "Die Menüs sind unübersichtlich.",
        ],
    },
    french: Tongue {
        good: &["Des images très nettes.", "Bonne prise en main."],
        bad: &["L'autofocus est lent.", "Trop lourd."],
    },
};

/// On phones and watches.
pub(crate) const POCKET: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "The display is bright enough for the beach.",
                "Text is razor sharp.",
                "The {=display_type} display is gorgeous.",
            ],
            &[
                "Hard to read in the sun.",
                "A scratch on the glass after three days in an empty pocket.",
                "The display has a green tint.",
            ],
        ),
        aspect(
            &[
                "{?battery_capacity}{battery_capacity} get me through two days.",
                "{?battery_life}The battery lasts {battery_life}, and I use it a lot.",
                "Charges while I shower.",
            ],
            &[
                "Flat by dinner.",
                "{?fast_charging}Fast charging makes it hot as a stove.",
            ],
        ),
        aspect(
            &[
                "{?main_camera}Pictures in the evening are surprisingly good.",
                "{+gps}The track on the map is accurate to the pavement.",
                "{+heart_rate_sensor}The pulse agrees with my chest strap.",
            ],
            &[
                "{?main_camera}{main_camera} on paper, blurred children in practice.",
                "{+gps}According to the GPS I run through houses.",
                "{+heart_rate_sensor}It thinks I am dead when I cycle.",
            ],
        ),
        aspect(
            &[
                "{=operating_system} runs smoothly and without clutter.",
                "Fast, even with many things open.",
                "Updates arrive every month.",
            ],
            &[
                "{=operating_system} stutters from time to time.",
                "No update since I bought it.",
                "Comes with twenty apps nobody wants.",
            ],
        ),
        aspect(
            &[
                "Calls are loud and clear.",
                "{+headphone_jack}A headphone jack, thank you!",
                "{?strap_material}The strap does not itch and can be changed.",
            ],
            &[
                "Reception is weak in our flat.",
                "{-headphone_jack}{?headphone_jack}No headphone jack.",
                "{?strap_material}The strap gave me a rash.",
            ],
        ),
        SUPPORT,
    ],
    titles: [
        &[
            "Battery for two days",
            "Great display",
            "Fast and light",
            "All I need",
            "Best value in its class",
        ],
        &[
            "Weak battery",
            "Stutters",
            "{?main_camera}Poor camera",
            "Too many apps",
        ],
    ],
    german: Tongue {
        good: &[
            "Der Akku hält locker zwei Tage.",
            "Tolles Display, auch in der Sonne.",
            "Läuft flüssig und ohne Ballast.",
        ],
        bad: &[
            "Der Akku ist abends leer.",
            "Ruckelt immer wieder.",
            "Der Empfang ist schwach.",
        ],
    },
    french: Tongue {
        good: &[
            "Très bel écran.",
            "L'autonomie tient deux jours.",
            "Rapide et fluide.",
        ],
        bad: &[
            "La batterie se vide trop vite.",
            "Des ralentissements constants.",
        ],
    },
};

/// On laptops.
pub(crate) const COMPUTERS: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Starts in eight seconds and stays fast.",
                "{=processor} and {memory} are plenty for my work.",
                "Compiles while others still spin their fans.",
            ],
            &[
                "Slow after the first update.",
                "{memory} fill up quickly.",
                "The fan runs from morning to night.",
            ],
        ),
        aspect(
            &[
                "The keyboard is a pleasure to type on.",
                "The trackpad is large and precise.",
                "The {=keyboard_layout} layout is complete, no shrunken keys.",
            ],
            &[
                "The keyboard rattles.",
                "The trackpad clicks when it wants to.",
                "The cursor keys are made for dolls.",
            ],
        ),
        aspect(
            &[
                "The screen is matte and bright.",
                "{screen_size} are the right size for me.",
                "Colours good enough for photographs.",
            ],
            &[
                "The screen mirrors everything.",
                "Light bleeds in at the lower edge.",
                "Too dark for the train.",
            ],
        ),
        aspect(
            &[
                "{battery_life} without a plug, with normal work.",
                "{?weight}{weight} that I do not feel in the bag.",
                "Solid hinges, no flex.",
            ],
            &[
                "{battery_life} is a dream; four hours are real.",
                "{?weight}Heavier than it looks.",
                "The case bends when you lift it by a corner.",
            ],
        ),
        aspect(
            &[
                "{+upgradable_memory}I added memory myself in ten minutes.",
                "All ports I need, no adapters.",
                "{?graphics}The {=graphics} runs everything I throw at it.",
            ],
            &[
                "{-upgradable_memory}{?upgradable_memory}Memory cannot be changed, think before you buy.",
                "One port too few, always.",
                "{?graphics}The {=graphics} is throttled after ten minutes.",
            ],
        ),
        SUPPORT,
    ],
    titles: [
        &[
            "Fast and quiet",
            "Great keyboard",
            "Ideal for travelling",
            "Very good screen",
            "A workhorse",
        ],
        &["Loud fan", "Weak battery", "Poor keyboard", "Gets hot"],
    ],
    german: Tongue {
        good: &[
            "Schnell, leise und gut verarbeitet.",
            "Die Tastatur ist hervorragend.",
            "Das Display ist hell und entspiegelt.",
        ],
        bad: &[
            "Der Lüfter läuft ständig.",
            "Der Akku hält keine vier Stunden.",
            "Die Tastatur klappert.",
        ],
    },
    french: Tongue {
        good: &[
            "{?read_speed}Rapide et silencieux.",
            "Un clavier très agréable.",
        ],
        bad: &[
            "Le ventilateur tourne en permanence.",
            "L'écran est trop sombre.",
        ],
    },
};

/// On parts and peripherals.
pub(crate) const PARTS: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Plugged in, recognised, done.",
                "Installed in ten minutes.",
                "Works under every system I have tried.",
            ],
            &[
                "Was not recognised at first.",
                "Needed a firmware update out of the box.",
                "Dead on arrival, the replacement works.",
            ],
        ),
        aspect(
            &[
                "{?read_speed}Measured {read_speed} reading, as promised.",
                "{?write_speed}Large files are copied before I reach for the cup.",
                "{?switch_type}The {switch_type} switches feel wonderful.",
                "{?sensor_dpi}Precise on any surface.",
                "{?resolution}The picture is crisp edge to edge.",
                "{?wifi_standard}Full signal in every room.",
                "{?fan_size}Inaudible below half speed.",
                "{?efficiency_class}Stays cool under load.",
            ],
            &[
                "{?write_speed}Writing collapses after forty gigabytes.",
                "{?switch_type}The {switch_type} switches ping like a spoon on a glass.",
                "{?sensor_dpi}The pointer jumps on my desk.",
                "{?resolution}Light bleeds from the corners.",
                "{?wifi_standard}The signal ends at the bathroom door.",
                "{?fan_size}Ticks at low speed.",
                "{?efficiency_class}The coil whine drives me mad.",
            ],
        ),
        aspect(
            &[
                "{+hot_swappable}I swapped four switches without a soldering iron.",
                "{?buttons}All {buttons} buttons are where my fingers are.",
                "{+mesh}Two of them cover the whole house.",
                "{+height_adjustable}The stand moves in all directions.",
                "{?heatsink}Stays below sixty degrees.",
                "Feels heavy and well made.",
            ],
            &[
                "{?buttons}The side buttons are too stiff.",
                "{+mesh}The mesh forgets its partner every few days.",
                "{+height_adjustable}The stand sinks slowly.",
                "Feels like a toy.",
            ],
        ),
        aspect(
            &[
                "Quiet.",
                "No light show, thank you.",
                "The cable is long and soft.",
            ],
            &[
                "The LEDs light up the bedroom.",
                "The software starts with the system and cannot be stopped.",
                "The cable is stiff as wire.",
            ],
        ),
        SUPPORT,
    ],
    titles: [
        &[
            "Plug and play",
            "{?read_speed}Fast",
            "{?noise_level}Very quiet",
            "Does what it should",
            "Great upgrade",
        ],
        &[
            "Dead on arrival",
            "{?data_rate}Slower than promised",
            "{?efficiency_class}Coil whine",
            "Awful software",
        ],
    ],
    german: Tongue {
        good: &[
            "Einstecken, läuft.",
            "{?read_speed}Schnell und leise.",
            "Sehr gute Verarbeitung.",
        ],
        bad: &[
            "Wurde nicht erkannt.",
            "{?read_speed}Langsamer als angegeben.",
            "Nach vier Wochen defekt.",
        ],
    },
    french: Tongue {
        good: &[
            "Branché, reconnu, rien à dire.",
            "{?read_speed}Rapide et silencieux.",
        ],
        bad: &[
            "En panne au bout d'un mois.",
            "{?read_speed}Moins rapide qu'annoncé.",
        ],
    },
};
